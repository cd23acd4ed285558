//! The API server as a source: follows the one `UserspaceNodeState` of this node, for ever.

use super::spec::NodeSpec;
use crate::error_chain::ErrorChain;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::StreamExt;
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Client};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_crds::{UserspaceNodeState, UserspaceNodeStateStatus};

const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The API server comes back within seconds of what matters to it; longer waits would only make the node late.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Where the news go.
#[derive(Debug)]
pub(super) struct Subscribers {
    /// To the loop: only when the networks or their generation changed.
    pub specs: watch::Sender<Option<NodeSpec>>,
    /// To the writer of the status: the status that is there, empty at first; none while there is no object.
    pub statuses: watch::Sender<Option<UserspaceNodeStateStatus>>,
}

/// Follows the object named `node`. An absent API server is waited for; an object that goes leaves the node as it is, because nothing says
/// that its networks should go.
pub(super) async fn follow(client: Client, node: String, subscribers: Subscribers) {
    let mut news = std::pin::pin!(watch_object(Api::all(client), &node));
    let mut waits = Waits::default();
    while let Some(event) = news.next().await {
        match event {
            Ok(object) => {
                if waits.end() {
                    tracing::info!("the API server is back");
                }
                deliver(object, &subscribers);
            }
            Err(error) => {
                let error_chain = ErrorChain(&error);
                if waits.have_begun() {
                    tracing::debug!(error = %error_chain, "the API server still cannot be watched");
                } else {
                    tracing::warn!(error = %error_chain, "the API server cannot be watched; working from what is known");
                }
                sleep(waits.next(is_answer(&error))).await;
            }
        }
    }
}

/// How long to wait until the next try.
#[derive(Default)]
struct Waits {
    /// The waits that are left, and whether the API server answered when they began. None while all is well.
    running: Option<(ExponentialBackoff, bool)>,
}

impl Waits {
    fn have_begun(&self) -> bool {
        self.running.is_some()
    }

    /// It worked. Says whether it had not before.
    fn end(&mut self) -> bool {
        self.running.take().is_some()
    }

    /// A server that has just come back refuses a few times ("storage is initializing", "too old resource version"); from its first answer on the waits are
    /// short again.
    fn next(&mut self, answered: bool) -> Duration {
        let (mut waits, _) = match self.running.take() {
            Some((waits, had_answered)) if had_answered || !answered => (waits, had_answered),
            _ => (waits(), answered),
        };
        let wait = waits.next().unwrap_or(LONGEST_WAIT);
        self.running = Some((waits, answered));
        wait
    }
}

/// With jitter (up to twice the wait): thousands of nodes must not come back to a restarted API server at the same moment.
fn waits() -> ExponentialBackoff {
    let waits = ExponentialBuilder::default().with_min_delay(FIRST_WAIT).with_max_delay(LONGEST_WAIT).with_factor(2.0);
    waits.with_jitter().without_max_times().build()
}

/// Whether the API server said this itself.
fn is_answer(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchError, WatchStartFailed};
    match error {
        WatchError(_) => true,
        InitialListFailed(error) | WatchStartFailed(error) => matches!(error, kube::Error::Api(_)),
        _ => false,
    }
}

fn deliver(object: Option<UserspaceNodeState>, subscribers: &Subscribers) {
    let status = match object {
        Some(object) => {
            let spec =
                NodeSpec { generation: object.metadata.generation.unwrap_or_default(), networks: object.spec.networks };
            // Each status that we write comes back as a new version of the object.
            subscribers.specs.send_if_modified(|known| {
                let changed = known.as_ref() != Some(&spec);
                *known = Some(spec);
                changed
            });
            Some(object.status.unwrap_or_default())
        }
        None => {
            tracing::info!("there is no UserspaceNodeState for this node; waiting for the controller to make it");
            None
        }
    };
    subscribers.statuses.send_replace(status);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_while_nobody_answers_and_are_short_again_from_the_first_answer_on() {
        let mut waits = Waits::default();
        let silent: Vec<Duration> = (0..6).map(|_| waits.next(false)).collect();
        assert!(silent[0] < 2 * FIRST_WAIT && silent[5] >= LONGEST_WAIT, "{silent:?}");
        assert!(waits.next(true) < 2 * FIRST_WAIT);
        let refused: Vec<Duration> = (0..5).map(|_| waits.next(true)).collect();
        assert!(refused[4] >= LONGEST_WAIT, "a server that refuses for long is left in peace: {refused:?}");
        assert!(waits.end() && !waits.end());
    }
}
