//! `usnet serve-attachments`: runs the CNI plugin of the node on request of the agent, which may
//! neither mount nor enter a network namespace. An attachment is the same however it was requested.
//!
//! A [`request`] is one JSON object on a connection of its own, and so is the answer. Only root can
//! connect, and an agent that was taken over gains little by it:
//! - [`mod@variables`]: it chooses neither a program nor the network namespace of the node;
//! - [`ipam_limits`]: only IPAM plugins of the service's own lists are run;
//! - [`reading`], [`server`] (IO): clients that send nothing, or too much, do not delay others.

mod call;
mod ipam_limits;
mod log_subject;
mod options;
pub(crate) mod reading;
mod server;
pub mod variables;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;
use usnet_dataplane::paths::NodePaths;

pub use options::Options;
pub use server::{Error as ServerError, run};
pub use variables::{NO_NETWORK_NAMESPACE, variables};

/// The maximum size of a request in bytes: a NetworkAttachmentDefinition has 64 KB at most.
const REQUEST_MAX: u64 = 256 << 10;
/// The maximum size of an answer in bytes.
const SIZE_MAX: u64 = 1 << 20;
/// How long a requester waits. This is longer than the service lets the plugin run.
const TIMEOUT: Duration = Duration::from_secs(40);

/// A call of the plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub command: Command,
    /// CNI's variables, without `CNI_COMMAND`.
    pub environment: BTreeMap<String, String>,
    /// The network configuration.
    pub configuration: Value,
}

/// The command of CNI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Command {
    Add,
    Del,
    Check,
}

impl Command {
    fn as_str(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Del => "DEL",
            Self::Check => "CHECK",
        }
    }
}

/// The answer of the plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// The result; null for a command without one.
    Result(Value),
    Error(CniError),
}

/// An error in the format of CNI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{msg}{}{details}", if details.is_empty() { "" } else { ": " })]
pub struct CniError {
    pub code: u32,
    pub msg: String,
    #[serde(default)]
    pub details: String,
}

/// Why an attachment failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "the container `attach` of the agent's pod, which runs the CNI plugin, does not answer: is config/components/attachments installed?"
    )]
    Unreachable(#[source] io::Error),
    #[error(transparent)]
    Plugin(#[from] CniError),
}

/// Requests a call of the plugin; returns its result.
pub async fn request(paths: &NodePaths, request: &Request) -> Result<Value, Error> {
    let answered = timeout(TIMEOUT, exchange(&paths.attach_socket(), request)).await;
    match answered.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())).map_err(Error::Unreachable)? {
        Answer::Result(result) => Ok(result),
        Answer::Error(error) => Err(error.into()),
    }
}

async fn exchange(socket: &Path, request: &Request) -> io::Result<Answer> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(&serde_json::to_vec(request)?).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.take(SIZE_MAX).read_to_end(&mut answer).await?;
    Ok(serde_json::from_slice(&answer)?)
}

#[cfg(test)]
mod tests;
