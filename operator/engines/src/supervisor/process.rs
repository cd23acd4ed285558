//! One process of an engine, whose output is that of the pod, and of which the last lines are kept:
//! they say why it ended.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How many lines are kept.
const LINES: usize = 20;
/// Longest line that is kept, in characters.
const LINE_MAX: usize = 200;
/// How long a process may take to end after SIGTERM.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The last lines of a process.
type Lines = Arc<Mutex<VecDeque<String>>>;

#[derive(Debug)]
pub(super) struct Process {
    pub(super) name: &'static str,
    pub(super) started: Instant,
    child: Child,
    lines: Lines,
}

impl Process {
    /// Starts a process, which is killed if this is dropped.
    pub(super) fn start(name: &'static str, mut command: Command) -> io::Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
        let lines = Lines::default();
        if let Some(output) = child.stdout.take() {
            tokio::spawn(pass_on(output, tokio::io::stdout(), Arc::clone(&lines)));
        }
        if let Some(output) = child.stderr.take() {
            tokio::spawn(pass_on(output, tokio::io::stderr(), Arc::clone(&lines)));
        }
        Ok(Self { name, started: Instant::now(), child, lines })
    }

    /// Waits for the end; returns how it ended.
    pub(super) async fn wait(&mut self) -> String {
        let status = self.child.wait().await;
        status.map_or_else(|error| format!("cannot be waited for: {error}"), how_it_ended)
    }

    /// How it ended; none while it runs.
    pub(super) fn has_ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(how_it_ended)
    }

    /// The line that says best why it ended: the last one about an error, else the last one.
    pub(super) fn last_words(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let is_error = |line: &&String| ["|ERR|", "|EMER|", "EAL: ", "rror"].iter().any(|word| line.contains(word));
        lines.iter().rev().find(is_error).or(lines.back()).map(|line| without_time(line).to_owned())
    }

    /// Asks it to end, and kills it if it does not.
    pub(super) async fn end(&mut self) {
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            let _it_may_have_ended = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        if timeout(END_TIMEOUT, self.child.wait()).await.is_err() {
            self.kill().await;
        }
    }

    pub(super) async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(process = self.name, %error, "cannot kill a process");
        }
    }
}

/// A line of the log of Open vSwitch without its time and its number, which differ at each start.
fn without_time(line: &str) -> &str {
    let mut parts = line.splitn(3, '|');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(number), Some(rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    }
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Copies lines of a process to the output of the pod, and keeps the last.
async fn pass_on(output: impl AsyncRead + Unpin, mut to: impl AsyncWriteExt + Unpin, lines: Lines) {
    let mut output = BufReader::new(output).split(b'\n');
    while let Ok(Some(mut line)) = output.next_segment().await {
        {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push_back(String::from_utf8_lossy(&line).chars().take(LINE_MAX).collect());
            let excess = lines.len().saturating_sub(LINES);
            lines.drain(..excess);
        }
        line.push(b'\n');
        // There may be no reader; the process must not wait for one.
        let _ = to.write_all(&line).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("sh", command).unwrap()
    }

    #[tokio::test]
    async fn the_end_and_the_last_error_are_known() {
        let line = "2026-11-30T05:04:14Z|00021|dpdk|ERR|no memory";
        let mut process = shell(&format!("echo '{line}' >&2; echo bye >&2; exit 3"));
        assert_eq!(process.wait().await, "ended with status 3");
        while process.last_words().is_none_or(|words| words != "dpdk|ERR|no memory") {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_process_that_ignores_the_request_to_end_can_be_killed() {
        let mut process = shell("trap '' TERM; sleep 60");
        assert_eq!(process.has_ended(), None);
        process.kill().await;
        assert_eq!(process.has_ended().unwrap(), "ended by signal 9");
        let mut process = shell("sleep 60");
        process.end().await;
        assert!(process.has_ended().is_some());
    }
}
