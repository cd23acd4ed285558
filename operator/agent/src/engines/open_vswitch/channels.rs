//! The channels of the driver for Open vSwitch: the session with the database, and the flows of
//! bridges, which the database does not have.

use super::forwarding::ForwardingProbe;
use super::guards::GuardKeeper;
use usnet_common::display::ErrorChain;
use usnet_dataplane::bridge::DesiredBridge;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::{OvsChannels, flows_refused};
use usnet_openflow::PortNumber;
use usnet_ovsdb::asynchronous::Handle;

/// The channels to the switch of this node.
#[derive(Debug)]
pub(crate) struct SwitchChannels {
    database: Handle,
    forwarding: ForwardingProbe,
    guards: GuardKeeper,
}

impl SwitchChannels {
    pub(super) fn new(database: Handle, forwarding: ForwardingProbe, guards: GuardKeeper) -> Self {
        Self { database, forwarding, guards }
    }
}

impl OvsChannels for SwitchChannels {
    type Database = Handle;

    fn database(&mut self) -> &mut Handle {
        &mut self.database
    }

    fn add_flows_to(&self, observed: &mut Observed) {
        self.forwarding.add_to(observed);
        self.guards.add_to(observed);
    }

    async fn stop_flooding(&mut self, bridge: &str, number: PortNumber) -> Result<(), OpError> {
        let stopped = self.guards.stop_flooding(bridge, number).await;
        stopped.map_err(|error| flows_refused(bridge, ErrorChain(&error).to_string()))
    }

    async fn restore_flows(&mut self, bridge: &DesiredBridge) -> Result<(), OpError> {
        let bridge = match bridge {
            DesiredBridge::Network { bridge, policy_zone, .. } if bridge.is_guarded => {
                self.guards.settle(bridge.name.as_str(), *policy_zone).await;
                return Ok(());
            }
            other => other.name().as_str(),
        };
        let restored = self.forwarding.restore(bridge).await;
        restored.map_err(|error| flows_refused(bridge, ErrorChain(&error).to_string()))
    }
}
