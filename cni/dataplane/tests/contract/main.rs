//! What every engine must do, on real ones: the cases are written once, for anything that is an [`Engine`].
//!
//! Needs root; see `e2e/openvswitch` for what else.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test ends at the first surprise")]

mod cases;
mod open_vswitch;
mod values;

use usnet_dataplane::engine::Engine;

/// A switch of its own for one test, and what others may do to it behind our back.
pub(crate) trait Switch {
    /// The driver.
    type Engine: Engine;

    /// Starts the switch.
    fn start() -> Self;
    /// A driver of this switch. It does not wait long for a switch that does not act.
    fn engine(&self) -> Self::Engine;
    /// Somebody else makes a bridge.
    fn add_foreign_bridge(&self, bridge: &str);
    /// Somebody else adds a port to a bridge.
    fn add_foreign_port(&self, bridge: &str, port: &str);
    /// Somebody else takes a bridge away, whose ever it is.
    fn remove_bridge(&self, bridge: &str);
    /// Somebody else takes a port away.
    fn remove_port(&self, bridge: &str, port: &str);
    /// Somebody else moves a port to another bridge.
    fn move_port(&self, port: &str, from: &str, to: &str);
    /// Somebody else removes our mark from a bridge.
    fn remove_mark(&self, bridge: &str);
    /// All that is configured. It differs after any write, even one that changes nothing.
    fn dump(&self) -> String;
    /// What stays the same as long as a port is not made anew.
    fn port_identity(&self, port: &str) -> String;
    /// Whether packets can go through a port of this bridge, whatever the engine's records say.
    fn forwards(&self, bridge: &str, port: &str) -> bool;
    /// The process that forwards packets is killed.
    fn kill_forwarding(&mut self);
    /// It is started again.
    fn start_forwarding(&mut self);
    /// The process that takes requests is killed.
    fn kill_control(&mut self);
    /// It is started again.
    fn start_control(&mut self);
}
