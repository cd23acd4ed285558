//! The channels of the driver for Open vSwitch: the session with the database, and the flows of
//! bridges, which the database does not have.

use super::forwarding::ForwardingProbe;
use usnet_common::display::ErrorChain;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::{OvsChannels, flows_refused};
use usnet_ovsdb::asynchronous::Handle;

/// The channels to the switch of this node.
#[derive(Debug)]
pub(crate) struct SwitchChannels {
    database: Handle,
    forwarding: ForwardingProbe,
}

impl SwitchChannels {
    pub(super) fn new(database: Handle, forwarding: ForwardingProbe) -> Self {
        Self { database, forwarding }
    }
}

impl OvsChannels for SwitchChannels {
    type Database = Handle;

    fn database(&mut self) -> &mut Handle {
        &mut self.database
    }

    fn add_flows_to(&self, observed: &mut Observed) {
        self.forwarding.add_to(observed);
    }

    async fn restore_flows(&mut self, bridge: &str) -> Result<(), OpError> {
        let restored = self.forwarding.restore(bridge).await;
        restored.map_err(|error| flows_refused(bridge, ErrorChain(&error).to_string()))
    }
}
