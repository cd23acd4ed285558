//! The binary `usnet`: see [`usnet_operator::cli::command_line`].

use clap::Parser;
use std::process::ExitCode;
use usnet_operator::cli::command_line::CommandLine;
use usnet_operator::cli::logging;
use usnet_operator::display::ErrorChain;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    logging::start(command_line.log_format);
    match command_line.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "usnet failed");
            ExitCode::FAILURE
        }
    }
}
