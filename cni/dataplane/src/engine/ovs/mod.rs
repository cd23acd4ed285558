//! The driver for Open vSwitch, through its database.
//!
//! A network is a bridge with `datapath_type=netdev`, an attachment a port on it with one interface
//! of type `dpdkvhostuserclient`, `dpdkvhostuser` or `system`. A device by which the network is
//! joined with other nodes is a port with an interface of type `system`. An uplink is a bridge with
//! its NIC, an interface of type `system` as well, and a pair of patch ports for each of its
//! networks: the NIC is a trunk of their VLANs, each patch port on the uplink's bridge an access
//! port of one. All have ownership tags in `external_ids` ([`NETWORK_KEY`], [`ATTACHMENT_KEY`],
//! [`DEVICE_KEY`], [`UPLINK_KEY`]); rows without them are only read.
//!
//! [`apply`](crate::engine::EngineDriver::apply) needs two round trips if there is no conflict: the
//! transaction, and the wait for the switch together with the query for the result. A list of
//! operations is one transaction however long it is, because the switch's work for each transaction
//! grows with its configuration. The exception is a name that is deleted and created again.
//!
//! Which frames a port may send is not in the database: [`guard`] has the flows for it, and
//! [`policy`] those for what they may carry; `bridge_flows` has all of a bridge, and with
//! [`generation`] the switch uses none of before a change.
//!
//! Only `driver`, `channels`, `apply`, `snapshot`, `server_socket`, [`connection_limits`],
//! [`guarded_flows`] and [`refused_frames`] perform IO.

mod apply;
mod blocking_channels;
mod bonds;
mod bridge_flows;
mod bridge_settings;
mod channels;
pub mod connection_limits;
mod dpdk_support;
mod driver;
mod error;
mod fitting_policies;
pub mod generation;
pub mod guard;
mod guarded;
pub mod guarded_flows;
mod legacy_tags;
mod network_pods;
mod network_policies;
mod observe;
mod plan_op;
pub mod policy;
mod port_settings;
mod ports;
mod qos;
mod quarantine;
mod queues;
pub mod refused_frames;
mod segmentation;
mod server_socket;
mod snapshot;
mod tags;

pub use crate::engine::policy_subjects::PortOwner;
pub use blocking_channels::BlockingChannels;
pub use bridge_flows::BridgeFlows;
pub use channels::{NewGuardedPort, OvsChannels, flows_refused};
pub use driver::{OpenVswitch, TIMEOUT, guarded_from, observed_from, ports_without_mtu};
pub use error::EmptyDatabase;
pub use fitting_policies::ClosedNamespaces;
pub use guarded::{FrameSource, GuardedBridge, GuardedPorts, PolicyTag};
pub use network_policies::NetworkPolicies;
pub(crate) use ports::{VHOST_USER_CLIENT, is_connected};
pub use server_socket::{ServerSocket, ports_with_folders, take_again};
pub use tags::{ATTACHMENT_KEY, DEVICE_KEY, NETWORK_KEY, POLICY_ZONE_KEY, UPLINK_KEY};
pub(crate) use tags::{CAPTURE_KEY, port_value};
