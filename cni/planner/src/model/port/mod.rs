//! Ports: everything that is, or should be, one end in an engine.
//!
//! [`DesiredPort`] is the one model of all ports: of pods, of kernel devices, NICs and tunnels by
//! which networks are joined with other nodes, and of patches between bridges. Their owners
//! distinguish them for the plan, their [backends](PortBackend) for the drivers.

mod attached;
mod backend;
mod desired_port;
mod difference;
mod guard;
mod kernel_device;
mod name;
mod pod_backend;
mod queue_settings;
mod settings;
mod socket_path;
mod tap_device;

pub use attached::AttachedPort;
pub use backend::{Bond, BondMember, PortBackend, TunnelEnds};
pub use desired_port::{CreationOptions, DesiredPort, PortBridge, PortPolicy};
pub use guard::{Guard, GuardedAddresses, GuardedPair, InvalidGuard};
pub use kernel_device::{DeviceRole, TAGS_BESIDE_FRAMES, UNKNOWN_SEGMENTATION};
pub use name::{DeviceName, NODE_END_PREFIX, PortName};
pub use pod_backend::PodBackend;
pub use queue_settings::{ObservedQueues, QueueSettings};
pub(crate) use settings::queues_text;
pub use settings::{DesiredSettings, ObservedSettings, PortMtu, PortSettings};
pub use socket_path::{SOCKET_PATH_MAX, SocketPath, SocketPathTooLong};
pub use tap_device::{NamespacePathTooLong, TapDevice};
