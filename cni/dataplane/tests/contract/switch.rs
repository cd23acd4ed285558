//! What the cases need of a switch.

use std::path::PathBuf;
use std::process::Command;
use usnet_crds::{NetworkName, RateLimit};
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::port::{PortBackend, PortName};

/// A switch for one test, and changes of it by other clients. Bridges have the names of the
/// networks' bridges.
pub(crate) trait Switch {
    /// The driver.
    type Engine: BlockingDriver;
    /// Which one it is.
    const KIND: usnet_crds::EngineKind;
    /// Whether it knows what it had when it has been killed and started again.
    const REMEMBERS: bool;

    /// A driver of this switch, with a short timeout.
    fn engine(&self) -> Self::Engine;
    /// Where it accepts requests.
    fn control_socket(&self) -> PathBuf;
    /// The backend of a container's port.
    fn backend(&self, container: &str) -> PortBackend;
    /// Another client creates a bridge.
    fn add_foreign_bridge(&self, bridge: &str);
    /// A command in the network namespace whose devices the switch sees.
    fn in_namespace(&self, program: &str) -> Command;
    /// Whether frames pass through it. A simulator moves none.
    fn moves_frames(&self) -> bool;
    /// Another client adds a kernel device to a bridge.
    fn add_foreign_device(&self, bridge: &str, device: &str);
    /// Another client adds a port to a bridge.
    fn add_foreign_port(&self, bridge: &str) -> PortName;
    /// Another client deletes a bridge, whether usnet owns it or not.
    fn remove_bridge(&self, bridge: &str);
    /// Another client deletes a port.
    fn remove_port(&self, bridge: &str, port: &PortName);
    /// Another client moves a port to another bridge.
    fn move_port(&self, port: &PortName, from: &str, to: &str);
    /// Another client removes the ownership tag of a bridge without ports.
    fn remove_tag(&self, bridge: &str, network: &NetworkName);
    /// Another client changes the MAC learning and aging of a bridge.
    fn change_mac_settings(&self, bridge: &str);
    /// Another client changes how many MAC addresses a bridge learns.
    fn change_mac_table(&self, bridge: &str);
    /// The complete configuration. It differs after any write, even one without effect.
    fn dump(&self) -> String;
    /// An identity of a port that changes only if it is recreated.
    fn port_identity(&self, port: &PortName) -> String;
    /// Whether the datapath forwards through a port of this bridge, whatever the driver reports.
    fn forwards(&self, bridge: &str, port: &PortName) -> bool;
    /// Kills the process that accepts requests.
    fn kill(&mut self);
    /// It is started again.
    fn restart(&mut self);
}

/// A switch with separate processes for requests and forwarding.
pub(crate) trait Forwarding: Switch {
    /// The process that forwards packets is killed.
    fn kill_forwarding(&mut self);
    /// It is started again.
    fn start_forwarding(&mut self);
}

/// A switch that supports all VLAN modes, rate limits and adopted bridges.
pub(crate) trait Settings: Switch {
    /// Another client changes the VLANs of a port, by other means than the driver's.
    fn change_vlans(&self, port: &PortName);
    /// Another client changes the limits of a port.
    fn change_limits(&self, port: &PortName);
    /// The limits that the switch reports to enforce.
    fn enforced(&self, port: &PortName) -> RateLimit;
    /// All that is set on a bridge, but not which ports it has.
    fn bridge_settings(&self, bridge: &str) -> String;
}

/// Defines a test for each of these cases. `start` returns a switch, or `None` if there is no such
/// switch on this machine.
macro_rules! contract {
    ($start:expr; $($group:ident::$case:ident),* $(,)?) => {$(
        #[test]
        fn $case() {
            if let Some(mut switch) = $start {
                $crate::cases::$group::$case(&mut switch);
            }
        }
    )*};
}
pub(crate) use contract;
