//! The binary `usnet`: see [`usnet_operator::command_line`].

use clap::Parser;
use std::process::ExitCode;
use usnet_operator::command_line::CommandLine;
use usnet_operator::error_chain::ErrorChain;
use usnet_operator::logging;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    logging::start(command_line.log_format);
    match command_line.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "usnet ends");
            ExitCode::FAILURE
        }
    }
}
