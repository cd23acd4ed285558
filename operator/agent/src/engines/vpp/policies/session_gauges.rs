//! What metrics say of the sessions of policies, of which VPP has one table for all networks (IO).

use super::INTERVAL;
use crate::report::metrics::Metrics;
use std::time::{Duration, Instant};
use usnet_common::display::ErrorChain;
use usnet_dataplane::vpp::policy::sessions;
use usnet_vpp::Api;

/// VPP forwards nothing while it prints them, and walks through all for that: 480,000 took 0.1 s.
/// Afterwards it is left alone for this many times the duration.
const PAUSE: u32 = 1000;
/// The longest time between two readings, also if VPP was late for another reason.
const PAUSE_MAX: Duration = Duration::from_secs(120);

pub(super) struct SessionGauges {
    metrics: Metrics,
    /// When they are read again; none if they are not known.
    next: Option<Instant>,
    /// Whether it was logged that VPP does not tell.
    is_logged: bool,
}

impl SessionGauges {
    pub(super) const fn new(metrics: Metrics) -> Self {
        Self { metrics, next: None, is_logged: false }
    }

    /// There are none: no network has policies, or VPP is gone.
    pub(super) fn clear(&mut self) {
        self.next = None;
        self.metrics.policy_sessions(None);
    }

    /// Reads them, unless they were read a short time ago.
    pub(super) async fn update(&mut self, api: &mut impl Api) {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return;
        }
        let found = sessions::read(api).await;
        self.next = Some(began + pause(began.elapsed()));
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read how many sessions policies have in VPP");
            None
        });
        if found.is_none() && !std::mem::replace(&mut self.is_logged, true) {
            tracing::debug!("it is not known how many sessions policies have in VPP");
        }
        self.metrics.policy_sessions(found);
    }
}

/// How long after the beginning of a reading that took this long the next one begins.
fn pause(took: Duration) -> Duration {
    took.saturating_mul(PAUSE).clamp(INTERVAL, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_read_less_often() {
        let pauses = [0, 1, 10, 50, 100, 2000].map(|took| pause(Duration::from_millis(took)).as_secs());
        assert_eq!(pauses, [10, 10, 10, 50, 100, 120]);
    }
}
