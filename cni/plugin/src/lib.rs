//! The CNI plugin `userspace`: attaches one interface of a pod to a network of its node, and
//! detaches it.
//!
//! It reads the files that the agent publishes for each network, adds one port to the engine, and
//! records each step before it is executed. It never creates a bridge and has no client of the API
//! server.
//!
//! One call, in order:
//!
//! 1. [`call`]: reads standard input, dispatches on the verb, prints the reply. IO: standard input
//!    and output.
//! 2. [`protocol`]: environment, configuration and the pod's annotation are parsed. No IO except
//!    [`protocol::input`], which reads standard input.
//! 3. [`verbs`]: ADD, DEL, CHECK, GC and STATUS, each for one network or, with
//!    [`verbs::multi_network`], for all networks that the pod selects. ADD validates everything
//!    that can be validated before anything is changed.
//! 4. [`attachment`]: the steps of ADD ([`attachment::attach`]) and of DEL
//!    ([`attachment::detach`]). IO: the journal and the network files of the node, kubelet's
//!    checkpoint, IPAM plugins, the kernel (mounts, netlink) and the engine.
//! 5. [`error`]: a failure, as the CNI error that is printed. No IO.
//!
//! [`legacy`] is the compatibility with Intel's userspace CNI, in each of these steps.

pub mod attachment;
pub mod call;
pub mod error;
pub mod legacy;
pub mod protocol;
pub mod verbs;
