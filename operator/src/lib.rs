//! The operator: the [`controller`] computes the desired state of every node (one for the cluster),
//! the [`agent`] reconciles its node (one for each node), beside it [`garbage`] is collected, and
//! [`attach`] runs the CNI plugin for it. The binary `usnet` runs one of them; `usnet
//! install-plugin` installs the CNI plugin on a node, `usnet kubevirt-sidecar` is the
//! [sidecar](kubevirt) of virtual machines, and by the name `kubectl-usnet` it is [`kubectl`]'s
//! plugin.

pub mod agent;
pub mod api;
pub mod attach;
pub(crate) mod backoff;
pub(crate) mod channels;
pub mod cli;
pub mod controller;
pub mod display;
pub mod garbage;
pub mod kubectl;
pub mod kubevirt;
pub mod leader;
pub mod node;
pub mod ports;
pub(crate) mod redact;
pub(crate) mod shares;
pub mod standalone;
pub mod telemetry;
