//! Step one of a reconcile: observes the engine through its watcher, and decides when to observe it
//! again.

use super::agent_state::AgentState;
use crate::engines::{EngineState, EngineWatcher, Reconnected, SocketFolderDeleted, Supervised, check_socket_folder};
use crate::model::engine_view::{EngineUp, EngineView, Outage};
use std::rc::Rc;
use std::time::{Duration, Instant};
use usnet_crds::conditions::reason::{DISCONNECTED, ENGINE_FOREIGN, ENGINE_STALLED, NEVER_SEEN};
use usnet_dataplane::plan::Op;

/// How long the first connection to an engine may take before the engine is reported as down. A
/// running engine answers within milliseconds; with a shorter time, each start of the agent would
/// report an outage.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);
/// How often it is checked whether the socket of an engine that is down can come back. No event
/// reports the deletion of a folder that is only held by a mount; a check is one `stat`.
const CHECK_FOLDER: Duration = Duration::from_secs(1);

/// Observes one engine.
#[derive(Debug)]
pub(super) struct Observer<W> {
    pub(super) watcher: W,
    supervised: Supervised,
    started: Instant,
    times: ObservationTimes,
}

/// When to observe the engine although it reported nothing, and until when to ignore its reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObservationTimes {
    /// When to observe it again; none if only its reports matter.
    pub(super) observe_at: Option<Instant>,
    /// Until when its reports are ignored; none if they are not.
    pub(super) not_before: Option<Instant>,
}

/// One observation.
#[derive(Debug)]
pub(super) struct Observation {
    pub(super) view: EngineView,
    /// The reconnect since the last observation, if there was one.
    pub(super) reconnected: Option<Reconnected>,
}

impl<W: EngineWatcher> Observer<W> {
    /// An observer that is due at once.
    pub(super) fn new(watcher: W, supervised: Supervised) -> Self {
        let started = Instant::now();
        Self { watcher, supervised, started, times: ObservationTimes { observe_at: Some(started), not_before: None } }
    }

    /// When to observe next.
    pub(super) fn times(&self) -> ObservationTimes {
        self.times
    }

    /// Observes the engine; none while the first attempt to connect is still under way.
    pub(super) async fn observe(
        &mut self,
        agent_state: &Rc<AgentState>,
    ) -> Result<Option<Observation>, SocketFolderDeleted> {
        let state = self.watcher.observe().await;
        self.evaluate(state, agent_state)
    }

    /// Observes the engine after operations were applied to what was observed `before`, which is
    /// none if their results are unknown.
    pub(super) async fn observe_changed(
        &mut self,
        before: Option<EngineUp>,
        operations: &[Op],
        agent_state: &Rc<AgentState>,
    ) -> Result<Option<Observation>, SocketFolderDeleted> {
        let state = match before {
            Some(before) => self.watcher.observe_changed(before, operations).await,
            None => self.watcher.observe().await,
        };
        self.evaluate(state, agent_state)
    }

    fn evaluate(
        &mut self,
        state: EngineState,
        agent_state: &Rc<AgentState>,
    ) -> Result<Option<Observation>, SocketFolderDeleted> {
        let now = Instant::now();
        let (mut observe_at, mut not_before, mut reconnected) = (self.watcher.next_observation(), None, None);
        let view = match state {
            EngineState::Up(engine) => {
                not_before = Some(now + W::MIN_INTERVAL);
                reconnected = self.watcher.take_reconnect();
                EngineView::Up(EngineUp { warning: self.supervised.warning(), ..engine })
            }
            EngineState::Stalled { message, has_ended } => {
                let (reason, message) = why_stalled(self.supervised.why_down(), message);
                EngineView::Down(Outage { reason, message, has_ended })
            }
            EngineState::Disconnected { message, is_first_attempt, has_ended } => {
                check_socket_folder(W::ENGINE, self.watcher.socket())?;
                observe_at = Some(now + CHECK_FOLDER);
                if is_first_attempt && now < self.started + FIRST_CONNECTION {
                    self.times = ObservationTimes { observe_at, not_before };
                    return Ok(None);
                }
                let was_seen = agent_state.persisted_state.read(|state| state.has_seen(W::ENGINE));
                let reason = if was_seen { DISCONNECTED } else { NEVER_SEEN };
                // The pod of a UserspaceEngine knows better why nothing listens.
                let (reason, message) = self.supervised.why_down().unwrap_or((reason, message));
                EngineView::Down(Outage { reason, message, has_ended })
            }
        };
        self.times = ObservationTimes { observe_at, not_before };
        Ok(Some(Observation { view, reconnected }))
    }
}

/// Why an engine stalls, as a reason and a message. The database of Open vSwitch outlives its
/// switch, which the pod of a UserspaceEngine may be unable to start; that the engine is of others
/// says nothing about why it stalls.
fn why_stalled(said: Option<(&'static str, String)>, message: String) -> (&'static str, String) {
    said.filter(|(reason, _)| *reason != ENGINE_FOREIGN).unwrap_or((ENGINE_STALLED, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::conditions::reason::ENGINE_FAILS;

    #[test]
    fn an_engine_stalls_for_the_reason_of_its_pod_unless_it_is_of_others() {
        let why = |said: Option<&'static str>| {
            why_stalled(said.map(|reason| (reason, "of the pod".to_owned())), "of the agent".to_owned())
        };
        assert_eq!(why(Some(ENGINE_FAILS)), (ENGINE_FAILS, "of the pod".to_owned()));
        for said in [Some(ENGINE_FOREIGN), None] {
            assert_eq!(why(said), (ENGINE_STALLED, "of the agent".to_owned()));
        }
    }
}
