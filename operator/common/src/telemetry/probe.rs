//! `usnet probe`: asks a program of the same container how it is, as the probe of its pod (IO). No
//! client but the kubelet reaches it, by the container runtime, and no port of the node or the pod
//! is needed.

use super::options::PROBE_SOCKET;
use clap::ValueEnum;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How long each step may take: less than the probe of the manifests.
const TIMEOUT: Duration = Duration::from_secs(4);
/// The longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 16 << 20;

/// Options of `usnet probe`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The question to ask.
    #[arg(value_enum)]
    pub question: Question,
    /// The socket of the program.
    #[arg(long, env = PROBE_SOCKET, value_name = "FILE")]
    pub probe_socket: PathBuf,
}

/// The question of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Question {
    /// Whether the program works.
    Healthz,
    /// Whether the program is ready.
    Readyz,
    /// All metrics, in the text format of Prometheus.
    Metrics,
}

/// Why the answer is not `ok`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no answer at {}: does the program of this container run, and listen there?", socket.display())]
    NoAnswer { socket: PathBuf, source: io::Error },
    #[error("{0}")]
    No(String),
}

/// Asks the program; returns what it reports after `ok`.
pub fn run(options: &Options) -> Result<String, Error> {
    let answer = ask(options).map_err(|source| Error::NoAnswer { socket: options.probe_socket.clone(), source })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer.as_str(), ""));
    let is_ok = head.split(' ').nth(1) == Some("200");
    let said = body.trim_end().to_owned();
    if is_ok { Ok(said) } else { Err(Error::No(said)) }
}

fn ask(options: &Options) -> io::Result<String> {
    let path = match options.question {
        Question::Healthz => "/healthz",
        Question::Readyz => "/readyz",
        Question::Metrics => "/metrics",
    };
    let mut stream = UnixStream::connect(&options.probe_socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: probe\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}
