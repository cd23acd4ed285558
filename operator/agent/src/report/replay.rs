//! Counts the ports that are recreated in an engine that lost them, so that they are logged in one
//! line. Pure; time is passed in.

use std::time::{Duration, Instant};

/// The time since the engine was connected to until it is fully programmed.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    running: Option<(Instant, usize)>,
}

impl Replay {
    /// Called at a new connection.
    pub(crate) fn start(&mut self, now: Instant) {
        self.running = Some((now, 0));
    }

    /// Whether the engine has not been fully programmed since it was connected to.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn count_created(&mut self, ports: usize) {
        if let Some((_, created)) = &mut self.running {
            *created += ports;
        }
    }

    /// Called when the engine is fully programmed. Returns how many ports were created since the
    /// connection, and how long that took; none if there was nothing to do.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<(usize, Duration)> {
        let (since, ports) = self.running.take()?;
        (ports > 0).then(|| (ports, now.duration_since(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_counts_over_several_attempts_and_is_logged_once() {
        let start = Instant::now();
        let mut replay = Replay::default();
        replay.count_created(3);
        assert_eq!(replay.finish(start), None, "nothing was lost");
        replay.start(start);
        replay.count_created(2);
        replay.count_created(1);
        let later = start + Duration::from_millis(7);
        assert_eq!(replay.finish(later), Some((3, Duration::from_millis(7))));
        assert_eq!(replay.finish(later), None);
        replay.start(later);
        assert_eq!(replay.finish(later), None, "the engine had everything");
    }
}
