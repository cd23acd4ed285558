//! What the cases need of a switch.

use usnet_crds::{NetworkName, RateLimit};
use usnet_dataplane::engine::Engine;
use usnet_dataplane::port::{PortBackend, PortName};

/// A switch of its own for one test, and what others may do to it behind our back. Bridges go by the names that we give them.
pub(crate) trait Switch {
    /// The driver.
    type Engine: Engine;
    /// Which one it is.
    const KIND: usnet_crds::Engine;
    /// Whether it knows what it had when it has been killed and started again.
    const REMEMBERS: bool;

    /// A driver of this switch. It does not wait long for a switch that does not act.
    fn engine(&self) -> Self::Engine;
    /// How the port of a container meets its pod.
    fn backend(&self, container: &str) -> PortBackend;
    /// Somebody else makes a bridge.
    fn add_foreign_bridge(&self, bridge: &str);
    /// Somebody else adds a port to a bridge.
    fn add_foreign_port(&self, bridge: &str) -> PortName;
    /// Somebody else takes a bridge away, whose ever it is.
    fn remove_bridge(&self, bridge: &str);
    /// Somebody else takes a port away.
    fn remove_port(&self, bridge: &str, port: &PortName);
    /// Somebody else moves a port to another bridge.
    fn move_port(&self, port: &PortName, from: &str, to: &str);
    /// Somebody else makes a bridge, which has no ports, forget whose it is.
    fn remove_tag(&self, bridge: &str, network: &NetworkName);
    /// Somebody else changes what a bridge does with MAC addresses.
    fn change_mac_settings(&self, bridge: &str);
    /// All that is configured. It differs after any write, even one that changes nothing.
    fn dump(&self) -> String;
    /// What stays the same as long as a port is not made anew.
    fn port_identity(&self, port: &PortName) -> String;
    /// Whether packets can go through a port of this bridge, whatever the driver says.
    fn forwards(&self, bridge: &str, port: &PortName) -> bool;
    /// The process that takes requests is killed.
    fn kill(&mut self);
    /// It is started again.
    fn restart(&mut self);
}

/// A switch that takes requests in one process and forwards packets in another.
pub(crate) trait Forwarding: Switch {
    /// The process that forwards packets is killed.
    fn kill_forwarding(&mut self);
    /// It is started again.
    fn start_forwarding(&mut self);
}

/// A switch whose ports can be in any VLANs and limited, and whose bridges can be adopted.
pub(crate) trait Settings: Switch {
    /// Somebody else puts a port into other VLANs, by other means than the driver's.
    fn change_vlans(&self, port: &PortName);
    /// Somebody else limits a port otherwise.
    fn change_limits(&self, port: &PortName);
    /// The limits that the switch itself says it enforces.
    fn enforced(&self, port: &PortName) -> RateLimit;
    /// All that is set on a bridge, but not which ports it has.
    fn bridge_settings(&self, bridge: &str) -> String;
}

/// One test for each of these cases. `start` gives a switch, or none where there is no such switch on this machine.
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
