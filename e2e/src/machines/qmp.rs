//! QEMU's monitor: JSON over a socket (`docs/interop/qmp-spec.rst` of QEMU).

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of an answer.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum QmpError {
    #[error("the monitor of QEMU does not respond")]
    Io(#[from] io::Error),
    #[error("QEMU's response is no JSON: {0:?}")]
    Json(String, #[source] serde_json::Error),
    #[error("this is no monitor of QEMU: {0}")]
    NoMonitor(Value),
    #[error("QEMU refuses {command}: {reason}")]
    Refused { command: String, reason: Value },
}

/// A connection to a QEMU, which serves one at a time.
#[derive(Debug)]
pub struct Qmp {
    reader: BufReader<UnixStream>,
}

impl Qmp {
    /// Connects to the socket of a QEMU that runs.
    pub fn connect(socket: &Path) -> Result<Self, QmpError> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut qmp = Self { reader: BufReader::new(stream) };
        let greeting = qmp.read()?;
        if greeting.get("QMP").is_none() {
            return Err(QmpError::NoMonitor(greeting));
        }
        qmp.ask("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Runs a command, and returns its result.
    pub fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, QmpError> {
        let request = json!({"execute": command, "arguments": arguments});
        self.reader.get_mut().write_all(format!("{request}\n").as_bytes())?;
        self.wait(|answer| {
            if let Some(reason) = answer.get_mut("error") {
                return Some(Err(QmpError::Refused { command: command.to_owned(), reason: reason.take() }));
            }
            answer.get_mut("return").map(|value| Ok(value.take()))
        })?
    }

    /// Waits for an event, such as `DEVICE_DELETED`, from now on.
    pub fn wait_for_event(&mut self, name: &str) -> Result<(), QmpError> {
        self.wait(|answer| (answer.get("event").and_then(Value::as_str) == Some(name)).then_some(()))
    }

    /// Reads until a message gives a result. Events come in between.
    fn wait<T>(&mut self, mut result: impl FnMut(&mut Value) -> Option<T>) -> Result<T, QmpError> {
        loop {
            let mut message = self.read()?;
            if let Some(found) = result(&mut message) {
                return Ok(found);
            }
        }
    }

    fn read(&mut self) -> Result<Value, QmpError> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        serde_json::from_str(&line).map_err(|error| QmpError::Json(line, error))
    }
}
