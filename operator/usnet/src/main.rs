//! The binary `usnet`: see [`command_line`].

mod command_line;
mod logging;
mod shutdown;

use clap::Parser;
use command_line::{CommandLine, Error};
use std::io::{self, Write};
use std::process::ExitCode;
use usnet_common::display::ErrorChain;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    logging::start(command_line.log_format);
    match command_line.run() {
        Ok(exit_code) => exit_code,
        // A person or a kubelet asked: a sentence instead of a log line.
        Err(error @ (Error::Node(_) | Error::Probe(_) | Error::Check(_) | Error::EngineCheck(_))) => {
            let _written = writeln!(io::stderr(), "usnet: {}", ErrorChain(&error));
            ExitCode::FAILURE
        }
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "usnet failed");
            ExitCode::FAILURE
        }
    }
}
