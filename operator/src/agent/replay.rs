//! The ports that are recreated in an engine that lost them: logged in one line, and not in one for
//! each port. Pure; time is passed in.

use std::time::{Duration, Instant};

/// The work since the engine was connected to, until it is fully programmed.
#[derive(Debug, Default)]
pub(super) struct Replay {
    running: Option<(Instant, usize)>,
}

impl Replay {
    /// There is a new connection.
    pub(super) fn begin(&mut self, now: Instant) {
        self.running = Some((now, 0));
    }

    /// Whether the engine has not been fully programmed since it was connected to.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// So many ports were created.
    pub(super) fn made(&mut self, ports: usize) {
        if let Some((_, made)) = &mut self.running {
            *made += ports;
        }
    }

    /// The engine is fully programmed: how many ports were created for that, and how long it took.
    /// None when there was nothing to do.
    pub(super) fn end(&mut self, now: Instant) -> Option<(usize, Duration)> {
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
        replay.made(3);
        assert_eq!(replay.end(start), None, "nothing was lost");
        replay.begin(start);
        replay.made(2);
        replay.made(1);
        let later = start + Duration::from_millis(7);
        assert_eq!(replay.end(later), Some((3, Duration::from_millis(7))));
        assert_eq!(replay.end(later), None);
        replay.begin(later);
        assert_eq!(replay.end(later), None, "the engine had everything");
    }
}
