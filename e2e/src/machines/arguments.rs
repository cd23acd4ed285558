//! The command line of `e2e/machines`: two machines for use by hand, and the programs in them.

use std::env;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use clap::Parser;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use super::channel;
use super::command_line::files;
use super::measure::{self, Measurement};
use super::model::NicModel;
use super::packages::Packages;
use super::pair::{NAMES, Pair, PairSpec};
use crate::testbed::progress;

/// The folder of the machines, for the commands that run beside them.
const FOLDER_VARIABLE: &str = "USNET_MACHINES";
/// Ends a shell in a machine: Ctrl-].
const ESCAPE: u8 = 0x1d;
/// A command by hand may take long.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Machines with real NICs, which QEMU emulates: `left` and `right`, connected NIC by NIC.
#[derive(Debug, Parser)]
#[command(name = "machines")]
pub enum Arguments {
    /// Starts both, runs a command beside them, and ends them with it
    Run {
        /// The model of each NIC; repeat it for several.
        #[arg(long, value_enum, default_values_t = [NicModel::E1000e; 2])]
        nic: Vec<NicModel>,
        #[arg(long, default_value_t = 256)]
        hugepages: u32,
        #[arg(long)]
        no_iommu: bool,
        /// With 2, the second NIC is on the second node.
        #[arg(long, default_value_t = 1)]
        numa_nodes: u8,
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Runs a shell command in a machine; for the command of `run`
    On {
        machine: String,
        #[arg(required = true, trailing_var_arg = true)]
        command: Vec<String>,
    },
    /// A shell in a machine, until Ctrl-]
    Shell { machine: String },
    /// Pulls a cable (both ends), or plugs it in again
    Cable {
        nic: usize,
        #[arg(value_parser = ["cut", "plug"])]
        state: String,
    },
    /// What machines run themselves
    #[command(subcommand)]
    Measure(Measurement),
}

/// Runs what the command line says, and returns the exit status.
#[must_use]
pub fn run() -> u8 {
    let result = match Arguments::parse() {
        Arguments::Run { nic, hugepages, no_iommu, numa_nodes, command } => {
            beside(&PairSpec { nics: nic, hugepages, has_iommu: !no_iommu, numa_nodes }, &command)
        }
        Arguments::On { machine, command } => on(&machine, &command.join(" ")),
        Arguments::Shell { machine } => shell(&machine).map(|()| 0).map_err(|error| error.to_string()),
        Arguments::Cable { nic, state } => cable(nic, state == "plug").map(|()| 0),
        Arguments::Measure(measurement) => {
            let text = measure::run(&measurement).map_err(|error| error.to_string());
            text.and_then(|text| print(&text)).map(|()| 0)
        }
    };
    result.unwrap_or_else(|error| {
        progress::line(&format!("machines: error: {error}"));
        125
    })
}

fn print(text: &str) -> Result<(), String> {
    io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())
}

fn beside(spec: &PairSpec, command: &[String]) -> Result<u8, String> {
    let packages = Packages::find()?;
    spec.nics.iter().try_for_each(|model| packages.check(*model))?;
    let pair = Pair::start(&packages, spec).map_err(|error| progress::with_causes(&error))?;
    for machine in pair.both() {
        progress::line(&format!(
            "machines: {} started in {:.1} s",
            machine.name(),
            machine.started_within().as_secs_f32()
        ));
    }
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let folder = env::current_exe().map_err(|error| error.to_string())?;
    let mut path: Vec<PathBuf> = folder.parent().map(PathBuf::from).into_iter().collect();
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut command = Command::new(program);
    command.args(arguments).env(FOLDER_VARIABLE, pair.folder());
    command.env("PATH", env::join_paths(path).map_err(|error| error.to_string())?);
    let status = command.status().map_err(|error| format!("{program}: {error}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn folder(machine: &str) -> Result<PathBuf, String> {
    let folder = env::var_os(FOLDER_VARIABLE).ok_or("this runs beside machines: `e2e/machines run -- bash`")?;
    Ok(PathBuf::from(folder).join(machine))
}

fn on(machine: &str, script: &str) -> Result<u8, String> {
    let output = channel::run(&folder(machine)?, script, LIMIT).map_err(|error| progress::with_causes(&error))?;
    print(&output.stdout)?;
    io::stderr().write_all(output.stderr.as_bytes()).map_err(|error| error.to_string())?;
    Ok(u8::try_from(output.status).unwrap_or(1))
}

fn cable(nic: usize, is_plugged: bool) -> Result<(), String> {
    for name in NAMES {
        let socket = folder(name)?.join(files::QMP);
        let qmp = super::qmp::Qmp::connect(&socket);
        let arguments = serde_json::json!({"name": super::command_line::device(nic), "up": is_plugged});
        let result = qmp.and_then(|mut qmp| qmp.ask("set_link", &arguments));
        result.map_err(|error| progress::with_causes(&error))?;
    }
    Ok(())
}

/// Connects this terminal with the shell of a machine.
fn shell(machine: &str) -> io::Result<()> {
    let socket = folder(machine).map_err(io::Error::other)?.join(files::SHELL);
    let mut stream = UnixStream::connect(socket)?;
    let terminal = io::stdin();
    let before = tcgetattr(terminal.as_fd())?;
    let mut raw = before.clone();
    cfmakeraw(&mut raw);
    tcsetattr(terminal.as_fd(), SetArg::TCSANOW, &raw)?;
    let mut output = stream.try_clone()?;
    let reader = thread::spawn(move || {
        let (mut bytes, mut stdout) = (vec![0; 4096], io::stdout());
        while let Ok(length @ 1..) = output.read(&mut bytes) {
            let _ = stdout.write_all(bytes.get(..length).unwrap_or_default());
            let _ = stdout.flush();
        }
    });
    stream.write_all(b"\n")?;
    let mut byte = [0];
    while let Ok(1..) = terminal.lock().read(&mut byte) {
        if byte == [ESCAPE] || stream.write_all(&byte).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
    let _ = reader.join();
    tcsetattr(terminal.as_fd(), SetArg::TCSANOW, &before)?;
    Ok(())
}
