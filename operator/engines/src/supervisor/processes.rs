//! The processes of an engine, in the order of their start.

use super::blocked::Blocked;
use super::engine::Engine;
use super::process::Process;
use std::collections::BTreeMap;
use std::future::pending;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a process may take until it serves. Open vSwitch reserves its memory meanwhile, which
/// takes seconds for many gigabytes.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// A process that ends so soon after its start is not started again at once.
const SHORT_LIFE: Duration = Duration::from_secs(5);
const SHORT_LIFE_DELAY: Duration = Duration::from_secs(1);
/// How often a running process is asked whether it acts, and how long it may not answer. Open
/// vSwitch answers nothing while it removes a thousand ports, which takes it 20 s.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// The time for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How the start of a process went.
#[derive(Debug)]
enum Start {
    /// It serves, or what it serves cannot be used.
    Served(Result<(), Blocked>),
    /// It ended, in this way.
    Ended(String),
    /// Another process ended meanwhile.
    OtherEnded(&'static str),
    TooLate,
}

#[derive(Debug, Default)]
pub(super) struct Processes {
    /// Those that run, by their place in the order.
    running: BTreeMap<usize, Process>,
    /// When each was last seen to act.
    acted: BTreeMap<usize, Instant>,
    checked: Option<Instant>,
}

impl Processes {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts what does not run, in order.
    pub(super) async fn start(&mut self, engine: &Engine) -> Result<(), Blocked> {
        for place in 0..engine.processes().len() {
            self.forget_ended();
            if self.running.contains_key(&place) {
                continue;
            }
            let process = self.start_one(engine, place).await?;
            self.running.insert(place, process);
            self.acted.insert(place, Instant::now());
        }
        Ok(())
    }

    async fn start_one(&mut self, engine: &Engine, place: usize) -> Result<Process, Blocked> {
        let name = engine.processes().get(place).copied().unwrap_or_default();
        let command = engine.prepare(place, self.is_empty()).await?;
        let mut process = Process::start(name, command).map_err(|error| Blocked::no_program(name, &error))?;
        match self.await_start(&mut process, engine.wait_until_it_serves(place)).await {
            Start::Served(served) => served.map(|()| process),
            Start::Ended(how) => {
                // What it wrote last may still be under way.
                sleep(Duration::from_millis(50)).await;
                let words = process.last_words().map(|words| format!(": {words}")).unwrap_or_default();
                Err(engine.why_it_failed(name, &how, &words))
            }
            Start::OtherEnded(other) => Err(Blocked::failed(other, &format!("ended while {name} was being started"))),
            Start::TooLate => {
                let words = process.last_words().unwrap_or_default();
                let seconds = START_TIMEOUT.as_secs();
                Err(Blocked::failed(name, &format!("serves nothing {seconds} s after its start: {words}")))
            }
        }
    }

    async fn await_start(&mut self, process: &mut Process, served: impl Future<Output = Result<(), Blocked>>) -> Start {
        tokio::select! {
            result = timeout(START_TIMEOUT, served) => result.map_or(Start::TooLate, Start::Served),
            how = process.wait() => Start::Ended(how),
            // It may wait for that one: the switch does for its database.
            other = self.another_has_ended() => Start::OtherEnded(other),
        }
    }

    fn forget_ended(&mut self) {
        self.running.retain(|_, process| process.has_ended().is_none());
    }

    /// Waits until one of those that run has ended; indefinitely if none runs.
    async fn another_has_ended(&mut self) -> &'static str {
        if self.is_empty() { pending().await } else { self.one_has_ended().await }
    }

    /// Waits until one has ended, and returns its name.
    pub(super) async fn one_has_ended(&mut self) -> &'static str {
        let ends = self.running.values_mut().map(|process| {
            Box::pin(async {
                process.wait().await;
                (process.name, process.started)
            })
        });
        let ends: Vec<_> = ends.collect();
        if ends.is_empty() {
            return "none";
        }
        let ((name, started), ..) = futures::future::select_all(ends).await;
        if started.elapsed() < SHORT_LIFE {
            sleep(SHORT_LIFE_DELAY).await;
        }
        name
    }

    /// Kills a process that has not acted for a minute.
    pub(super) async fn end_what_hangs(&mut self, engine: &Engine) {
        if self.checked.is_some_and(|checked| checked.elapsed() < CHECK_INTERVAL) {
            return;
        }
        for (place, process) in &mut self.running {
            let acts = timeout(ANSWER_TIMEOUT, engine.acts(*place)).await.unwrap_or(false);
            let acted = self.acted.entry(*place).or_insert_with(Instant::now);
            if acts {
                *acted = Instant::now();
            } else if acted.elapsed() >= HANGS_AFTER {
                tracing::error!(
                    process = process.name,
                    seconds = HANGS_AFTER.as_secs(),
                    "a process of the engine hangs; killing it"
                );
                process.kill().await;
            }
        }
        self.checked = Some(Instant::now());
    }

    /// Ends all, the last one first.
    pub(super) async fn end(&mut self) {
        while let Some((_, mut process)) = self.running.pop_last() {
            process.end().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::process::Command;

    fn shell(name: &'static str, script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start(name, command).unwrap()
    }

    fn with_server(script: &str) -> Processes {
        let mut processes = Processes::default();
        processes.running.insert(0, shell("server", script));
        processes
    }

    #[tokio::test]
    async fn a_process_that_ends_ends_the_start_of_the_next_one() {
        let mut switch = shell("switch", "sleep 60");
        let begun = Instant::now();
        let start = with_server("exit 1").await_start(&mut switch, pending()).await;
        assert!(matches!(start, Start::OtherEnded("server")), "{start:?}");
        assert!(begun.elapsed() < START_TIMEOUT / 2);
    }

    #[tokio::test]
    async fn a_start_ends_with_the_process_or_when_it_serves() {
        let mut server = with_server("sleep 60");
        let start = server.await_start(&mut shell("switch", "exit 3"), pending()).await;
        assert!(matches!(&start, Start::Ended(how) if how == "ended with status 3"), "{start:?}");
        let start = server.await_start(&mut shell("switch", "sleep 60"), async { Ok(()) }).await;
        assert!(matches!(start, Start::Served(Ok(()))), "{start:?}");
        let start = Processes::default().await_start(&mut shell("switch", "exit 3"), pending()).await;
        assert!(matches!(start, Start::Ended(_)), "nothing else runs: {start:?}");
    }
}
