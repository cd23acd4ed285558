//! The binary `usnet`: see [`usnet_operator::cli::command_line`].

use clap::Parser;
use std::io::{self, Write};
use std::process::ExitCode;
use usnet_operator::cli::command_line::{CommandLine, Error};
use usnet_operator::cli::logging;
use usnet_operator::display::ErrorChain;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    logging::start(command_line.log_format);
    match command_line.run() {
        Ok(exit_code) => exit_code,
        // A person asked, not a service: a sentence instead of a log line.
        Err(error @ Error::Node(_)) => {
            let _written = writeln!(io::stderr(), "usnet: {}", ErrorChain(&error));
            ExitCode::FAILURE
        }
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "usnet failed");
            ExitCode::FAILURE
        }
    }
}
