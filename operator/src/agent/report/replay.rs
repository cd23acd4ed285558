//! The ports that are recreated in an engine that lost them: logged in one line, and not in one for
//! each port. Pure; time is passed in.

use std::time::{Duration, Instant};

/// The work since the engine was connected to, until it is fully programmed.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    running: Option<(Instant, usize)>,
}

impl Replay {
    /// There is a new connection.
    pub(crate) fn start(&mut self, now: Instant) {
        self.running = Some((now, 0));
    }

    /// Whether the engine has not been fully programmed since it was connected to.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// So many ports were created.
    pub(crate) fn count_created(&mut self, ports: usize) {
        if let Some((_, created)) = &mut self.running {
            *created += ports;
        }
    }

    /// The engine is fully programmed: how many ports were created for that, and how long it took.
    /// None when there was nothing to do.
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
