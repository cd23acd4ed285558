//! A program that attaches a pod as the plugin does, with the plugin's promises and in the fewest
//! steps that are known. It reads no configuration: a bound, not a product.
//!
//! `ideal ADD|DEL ovs|vpp STATE RUN VOLUME SOCKET BRIDGE CONTAINER`: STATE, RUN and VOLUME are the
//! folders of [`Files`].
//!
//! The promises: one call for a pod at a time; a record before anything is changed, which says what
//! there may be; the folder of the pod's sockets without links, devices and programs; a port that
//! the engine has when ADD ends; a description and a line of history.

mod files;
mod open_vswitch;
mod vpp;

use files::Files;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// What a call is about.
struct Call {
    verb: String,
    engine: String,
    files: Files,
    /// The socket of the engine.
    socket: String,
    bridge: String,
    container: String,
}

impl Call {
    fn from_arguments() -> Option<Self> {
        let mut arguments = std::env::args().skip(1);
        let (verb, engine) = (arguments.next()?, arguments.next()?);
        let (state, run, volume) = (arguments.next()?, arguments.next()?, arguments.next()?);
        let (socket, bridge, container) = (arguments.next()?, arguments.next()?, arguments.next()?);
        let files = Files { state, run, volume, container: container.clone() };
        Some(Self { verb, engine, files, socket, bridge, container })
    }

    /// The name of the port, of at most 15 letters, which the number of the pod ends.
    fn port(&self) -> String {
        format!("ideal{}", self.container.get(self.container.len().saturating_sub(8)..).unwrap_or_default())
    }

    fn add(&self) -> Result<(), Box<dyn Error>> {
        let _lock = self.files.lock()?;
        let mut record = self.files.begin()?;
        let folder = self.files.mount()?;
        let socket = format!("{folder}/net1.sock");
        let created = match self.engine.as_str() {
            "ovs" => open_vswitch::add(&self.socket, &self.bridge, &self.port(), &socket)?,
            _ => vpp::add(&self.socket, self.bridge.parse()?, self.number()?, &socket)?,
        };
        self.files.describe(&folder, &socket)?;
        writeln!(record, "\n{created}")?;
        self.files.log("ADD")?;
        println(&format!(
            r#"{{"cniVersion":"1.1.0","interfaces":[{{"name":"net1","mtu":1500,"socketPath":"{socket}"}}],"ips":[]}}"#
        ))
    }

    fn del(&self) -> Result<(), Box<dyn Error>> {
        let _lock = self.files.lock()?;
        let record = self.files.record()?;
        let created = record.lines().last().ok_or("the record is empty")?;
        match self.engine.as_str() {
            "ovs" => open_vswitch::del(&self.socket, &self.bridge, created)?,
            _ => vpp::del(&self.socket, self.number()?, created.parse()?)?,
        }
        self.files.end()?;
        self.files.log("DEL")
    }

    /// A number of its own for the memif socket of a pod.
    fn number(&self) -> Result<u32, std::num::ParseIntError> {
        let digits = self.container.get(self.container.len().saturating_sub(6)..).unwrap_or_default();
        u32::from_str_radix(digits, 16).map(|number| number + 500_000)
    }
}

fn println(text: &str) -> Result<(), Box<dyn Error>> {
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn main() -> ExitCode {
    let Some(call) = Call::from_arguments() else { return ExitCode::from(2) };
    let result = if call.verb == "ADD" { call.add() } else { call.del() };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "ideal: {} {}: {error}", call.verb, call.container);
            ExitCode::FAILURE
        }
    }
}
