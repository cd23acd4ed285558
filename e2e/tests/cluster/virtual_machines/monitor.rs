//! QEMU's monitor: JSON over a socket in the pod (`docs/interop/qmp-spec.rst` of QEMU).

use crate::support::cluster::{check, eventually, eventually_within};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connection to the monitor of a QEMU.
pub(super) struct Monitor {
    reader: BufReader<UnixStream>,
}

/// QEMU's report of a completed migration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Migrated {
    /// From the request to the end.
    pub(super) total: Duration,
    /// The time in which no QEMU ran the guest.
    pub(super) downtime: Duration,
}

impl Monitor {
    /// Connects to the socket of a QEMU that runs.
    pub(super) fn connect(socket: &Path) -> Result<Self, String> {
        let stream = UnixStream::connect(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut monitor = Self { reader: BufReader::new(stream) };
        let greeting = monitor.read()?;
        check(greeting.get("QMP").is_some(), greeting.to_string())?;
        monitor.ask("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Runs a command, and gives what it returns.
    pub(super) fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value, String> {
        let request = json!({"execute": command, "arguments": arguments});
        self.reader.get_mut().write_all(format!("{request}\n").as_bytes()).map_err(|error| error.to_string())?;
        // Events come in between.
        loop {
            let mut answer = self.read()?;
            if let Some(error) = answer.get("error") {
                return Err(format!("{command}: {error}"));
            }
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    /// The state of the machine, such as `running`, or `inmigrate` while it waits for a guest.
    pub(super) fn status(&mut self) -> String {
        self.ask("query-status", &json!({})).unwrap()["status"].as_str().unwrap().to_owned()
    }

    /// Moves the guest to the QEMU that waits at that address.
    #[track_caller]
    pub(super) fn migrate(&mut self, to: &str) -> Migrated {
        self.ask("migrate", &json!({"uri": format!("tcp:{to}")})).unwrap();
        let observed = eventually_within(Duration::from_secs(60), "the migration", || {
            let observed = self.ask("query-migrate", &json!({}))?;
            assert_ne!(observed["status"], "failed", "{observed}");
            check(observed["status"] == "completed", observed.to_string())?;
            Ok(observed)
        });
        let milliseconds = |field: &str| Duration::from_millis(observed[field].as_u64().unwrap());
        Migrated { total: milliseconds("total-time"), downtime: milliseconds("downtime") }
    }

    fn read(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).map_err(|error| format!("QEMU does not answer: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))
    }
}

/// Connects once QEMU serves its monitor.
#[track_caller]
pub(super) fn await_monitor(socket: &Path) -> Monitor {
    eventually("the monitor of QEMU", || Monitor::connect(socket))
}
