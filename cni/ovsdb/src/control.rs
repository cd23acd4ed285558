//! The control socket of the switch's process, `ovs-vswitchd.<pid>.ctl`. Answers are texts for
//! users, whose form is not documented. The same socket can stop the switch, so that only commands
//! that read are here, and one that the database of Open vSwitch 3.1 has no column for.

use serde::Deserialize;
use serde_json::json;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most bytes of an answer that are read: the MAC table of a full bridge has some hundred KB.
const ANSWER_MAX: u64 = 16 << 20;

/// A command that reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'a> {
    /// Lists the MAC addresses that a bridge has learned.
    MacTable(&'a str),
    /// Lists bridges and ports of the datapath, with their numbers.
    Datapath,
    /// Lists the queues of ports by the thread that polls them.
    Queues,
    /// Lists counters of events inside the switch.
    Coverage,
    /// Lists the zones of the netdev datapath whose connections are limited, with their numbers.
    ConnectionLimits,
}

/// How many connections a zone of the netdev datapath may have. It goes with the process, and those
/// that the zone had before are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimit {
    pub zone: u16,
    pub limit: u32,
}

/// The datapath of all netdev bridges; a node may have that of the kernel as well.
const DATAPATH: &str = "netdev@ovs-netdev";

impl Question<'_> {
    const fn method(self) -> &'static str {
        match self {
            Self::MacTable(_) => "fdb/show",
            Self::Datapath => "dpif/show",
            Self::Queues => "dpif-netdev/pmd-rxq-show",
            Self::Coverage => "coverage/show",
            Self::ConnectionLimits => "dpctl/ct-get-limits",
        }
    }

    fn arguments(self) -> Vec<String> {
        match self {
            Self::MacTable(bridge) => vec![bridge.to_owned()],
            Self::ConnectionLimits => vec![DATAPATH.to_owned()],
            Self::Datapath | Self::Queues | Self::Coverage => Vec::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("no control socket of ovs-vswitchd in {} answers: start the switch, or let this program see that folder", .0.display())]
    NoSocket(PathBuf),
    #[error("cannot ask ovs-vswitchd at {} for {method}", socket.display())]
    Connection { socket: PathBuf, method: &'static str, source: io::Error },
    #[error("ovs-vswitchd refuses {method}: {message}")]
    Refused {
        method: &'static str,
        /// The message of the switch.
        message: String,
    },
}

/// An answer of the switch. Both fields are texts.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

/// Sends a command to the switch whose control socket is in `folder`, which is that of its
/// database's socket.
pub fn ask(folder: &Path, question: Question<'_>, timeout: Duration) -> Result<String, ControlError> {
    send(folder, (question.method(), question.arguments()), timeout)
}

/// Limits the connections of a zone, on the switch whose control socket is in `folder`.
pub fn limit_connections(folder: &Path, limit: ConnectionLimit, timeout: Duration) -> Result<(), ControlError> {
    let ConnectionLimit { zone, limit } = limit;
    let arguments = vec![DATAPATH.to_owned(), format!("zone={zone},limit={limit}")];
    send(folder, ("dpctl/ct-set-limits", arguments), timeout).map(drop)
}

fn send(
    folder: &Path,
    (method, arguments): (&'static str, Vec<String>),
    timeout: Duration,
) -> Result<String, ControlError> {
    let (socket, mut stream) = connect(folder).ok_or_else(|| ControlError::NoSocket(folder.to_owned()))?;
    let exchange = || -> io::Result<Answer> {
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let request = json!({"id": 0, "method": method, "params": arguments});
        stream.write_all(request.to_string().as_bytes())?;
        // The switch keeps the connection open: the answer ends where its JSON does.
        let mut answers = serde_json::Deserializer::from_reader(stream.take(ANSWER_MAX)).into_iter();
        answers.next().ok_or(io::ErrorKind::UnexpectedEof)?.map_err(Into::into)
    };
    match exchange() {
        Ok(Answer { error: Some(message), .. }) => {
            Err(ControlError::Refused { method, message: message.trim().to_owned() })
        }
        Ok(answer) => Ok(answer.result.unwrap_or_default()),
        Err(source) => Err(ControlError::Connection { socket, method, source }),
    }
}

/// Connects to the socket of a running process. The socket is named after the program, which is not
/// always `ovs-vswitchd`, and its process; a socket of a process that ended refuses connections.
fn connect(folder: &Path) -> Option<(PathBuf, UnixStream)> {
    let is_switch = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("ovs-vswitchd") && name.ends_with(".ctl")
    };
    let mut sockets: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).filter(is_switch).collect();
    sockets.sort();
    sockets.into_iter().find_map(|path| UnixStream::connect(&path).ok().map(|stream| (path, stream)))
}
