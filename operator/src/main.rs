//! The binary `usnet`: see [`usnet_operator::cli::command_line`]. Its name decides whether it is
//! the plugin of kubectl: see [`usnet_operator::kubectl`].

use clap::Parser;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use usnet_operator::cli::command_line::{CommandLine, Error};
use usnet_operator::cli::logging;
use usnet_operator::display::ErrorChain;
use usnet_operator::kubectl;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|program| Path::new(program).file_name());
    let is_completion = name.is_some_and(|name| name == kubectl::COMPLETION_NAME);
    if is_completion || name.is_some_and(|name| name == kubectl::NAME) {
        return kubectl::main(arguments, is_completion);
    }
    let command_line = CommandLine::parse();
    logging::start(command_line.log_format);
    match command_line.run() {
        Ok(exit_code) => exit_code,
        // A person or a kubelet asked: a sentence instead of a log line.
        Err(error @ (Error::Node(_) | Error::Probe(_))) => {
            let _written = writeln!(io::stderr(), "usnet: {}", ErrorChain(&error));
            ExitCode::FAILURE
        }
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "usnet failed");
            ExitCode::FAILURE
        }
    }
}
