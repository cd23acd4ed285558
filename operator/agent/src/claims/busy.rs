//! The claims that are being prepared or unprepared. Calls for one claim come at the same time:
//! kubelet repeats a call that it no longer waits for, while the first one still runs in a task of
//! its own, and prepares a claim for each pod that shares it.

use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::watch::Sender;
use tokio::time::timeout;
use usnet_dataplane::attachment::ClaimUid;

/// How long a call of kubelet waits for another one of the same claim. kubelet gives up a call
/// after 45 s, and would write that in place of the reason in the pod's event.
pub(super) const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The claims that are in work.
#[derive(Debug, Clone, Default)]
pub(super) struct Busy(Sender<BTreeSet<ClaimUid>>);

/// Keeps a claim in work until this is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    busy: Busy,
    claim: ClaimUid,
}

impl Busy {
    /// Begins work on a claim; none if another call is working on it.
    pub(super) fn enter(&self, claim: &ClaimUid) -> Option<Entered> {
        let is_new = self.0.send_if_modified(|claims| claims.insert(claim.clone()));
        is_new.then(|| Entered { busy: self.clone(), claim: claim.clone() })
    }

    /// Begins work on a claim after the calls that are working on it; none if they need more than
    /// [`WAIT_LIMIT`].
    pub(super) async fn enter_after_others(&self, claim: &ClaimUid) -> Option<Entered> {
        let mut changes = self.0.subscribe();
        timeout(WAIT_LIMIT, async {
            loop {
                // The sender is in `self`, so there is always another change to wait for.
                let _free = changes.wait_for(|claims| !claims.contains(claim)).await.is_ok();
                if let Some(entered) = self.enter(claim) {
                    return entered;
                }
            }
        })
        .await
        .ok()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.busy.0.send_if_modified(|claims| claims.remove(&self.claim));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn calls_for_a_claim_are_one_after_the_other_and_those_for_others_do_not_wait() {
        let busy = Busy::default();
        let (shared, other) = ("c-1".parse().unwrap(), "c-2".parse().unwrap());
        let start = Instant::now();
        let call = async |claim: &ClaimUid| {
            let _entered = busy.enter_after_others(claim).await.unwrap();
            sleep(Duration::from_secs(5)).await;
            start.elapsed().as_secs()
        };
        let mut ended = join_all([call(&shared), call(&shared), call(&shared), call(&other)]).await;
        ended.sort_unstable();
        assert_eq!(ended, [5, 5, 10, 15]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_hangs_lets_the_next_one_fail_before_kubelet_gives_up() {
        let busy = Busy::default();
        let claim = "c-1".parse().unwrap();
        let _hanging = busy.enter(&claim).unwrap();
        let start = Instant::now();
        assert!(busy.enter_after_others(&claim).await.is_none());
        assert_eq!(start.elapsed().as_secs(), WAIT_LIMIT.as_secs());
    }
}
