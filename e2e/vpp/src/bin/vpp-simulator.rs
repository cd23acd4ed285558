//! The simulator of VPP's binary API as a program, for machines without VPP.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use usnet_test_vpp::{Error, Fault, Simulator};

/// A simulator of VPP's binary API.
///
/// It does not simulate packets. Lines that are sent to FOLDER/control.sock inject faults while it
/// runs; each is answered with "ok" or "error: ...". A line is a value of --fault, or one of: well,
/// restart, die.
#[derive(Parser)]
struct Arguments {
    /// VPP's runtime directory. It gets the sockets, and messages.log with all messages.
    #[arg(long)]
    folder: PathBuf,
    /// The socket of the binary API [default: FOLDER/api.sock].
    #[arg(long)]
    socket: Option<PathBuf>,
    /// A fault from the start: slow MILLISECONDS | fail N RETVAL | drop|die|restart before|after N
    /// | hang | missing MESSAGE | without PLUGIN_FILE. N counts messages from 1.
    #[arg(long)]
    fault: Vec<Fault>,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Runs until a fault ends it.
fn run(arguments: Arguments) -> Result<(), Error> {
    let Arguments { folder, socket, fault } = arguments;
    std::fs::create_dir_all(&folder).map_err(|source| Error::File { path: folder.clone(), source })?;
    let socket = socket.unwrap_or_else(|| folder.join("api.sock"));
    Simulator::start_at(&folder, &socket, &fault)?.wait();
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a program says why it ends")]
fn report(mut error: &dyn std::error::Error) {
    eprint!("vpp-simulator: {error}");
    while let Some(source) = error.source() {
        eprint!(": {source}");
        error = source;
    }
    eprintln!();
}
