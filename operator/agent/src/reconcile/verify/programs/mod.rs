//! The programs in the pods, at the other end of the ports of one engine. Pure, except that the
//! [socket of a pod](pod_socket) without a connection is inspected; time is passed in.

mod last_connected;
mod pod_socket;
mod unconnected;
mod without_memory;

use crate::engines::Reconnected;
use crate::model::engine_view::EngineView;
use crate::model::health::Cause;
use last_connected::LastConnected;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use unconnected::UnconnectedPorts;
use usnet_crds::EngineKind;
use usnet_crds::node_state::EngineEnd;
use usnet_dataplane::attachment::{AttachmentId, Record};
use without_memory::PortsWithoutMemory;

#[derive(Debug)]
pub(crate) struct Programs {
    engine: EngineKind,
    unconnected: UnconnectedPorts,
    without_memory: PortsWithoutMemory,
    last_connected: LastConnected,
}

impl Programs {
    pub(crate) fn of(engine: EngineKind) -> Self {
        let unconnected = UnconnectedPorts::new(pod_socket::look);
        let without_memory = PortsWithoutMemory::default();
        Self { engine, unconnected, without_memory, last_connected: LastConnected::default() }
    }

    /// Called with each observation of the engine, before the reconcile. Returns the end of the
    /// engine if this observation is the first to show it.
    pub(crate) fn on_observation(
        &mut self,
        view: &EngineView,
        reconnected: Option<Reconnected>,
        now: Instant,
    ) -> Option<&EngineEnd> {
        let has_ended = match view {
            EngineView::Up(_) => reconnected.is_some_and(|reconnected| reconnected.has_ended),
            EngineView::Down(outage) => outage.has_ended,
        };
        if has_ended { self.last_connected.on_end(self.engine, now) } else { None }
    }

    /// Updates the programs from an observation. Returns the attachments to report, because the
    /// engine has no memory for them, or because they have no connected program or have lost their
    /// device on the node.
    pub(crate) fn update(
        &mut self,
        records: &[Record],
        view: &EngineView,
        missing: &BTreeSet<AttachmentId>,
        now: Instant,
    ) -> BTreeMap<AttachmentId, Cause> {
        self.last_connected.update(records, view, now);
        let mut causes = self.unconnected.update(self.engine, records, view, missing, now);
        // It also explains why a program is not connected: the engine ended the connection.
        causes.extend(self.without_memory.update(self.engine, records, view, now));
        causes
    }

    /// When the next attachment becomes due for a report.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.unconnected.next_due(now).into_iter().chain(self.without_memory.next_due(now)).min()
    }

    /// The last end of the engine since the agent was started.
    pub(crate) fn last_end(&self) -> Option<&EngineEnd> {
        self.last_connected.last_end()
    }
}
