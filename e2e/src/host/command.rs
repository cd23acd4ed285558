//! Runs a program to its end.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started, or its input not be written.
    #[error("cannot run {command}")]
    Run {
        /// The command line.
        command: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It ended with an error.
    #[error("{command} failed ({status}): {output}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it printed on standard error.
        output: String,
    },
}

/// This program once more, for another of a test bed's processes.
///
/// # Errors
/// When the system does not say where it is.
pub fn this_program() -> io::Result<Command> {
    std::env::current_exe().map(Command::new)
}

/// Runs it and gives what it printed on standard output.
///
/// # Errors
/// When it cannot be started or does not end with status 0.
pub fn run(command: &mut Command) -> Result<String, CommandError> {
    let output = command.stdin(Stdio::null()).output().map_err(|source| not_run(command, source))?;
    finish(command, &output)
}

/// The same, with `input` on its standard input.
///
/// # Errors
/// As [`run`].
pub fn run_with_input(command: &mut Command, input: &str) -> Result<String, CommandError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| not_run(command, source))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|source| not_run(command, source))?;
    }
    let output = child.wait_with_output().map_err(|source| not_run(command, source))?;
    finish(command, &output)
}

fn finish(command: &Command, output: &Output) -> Result<String, CommandError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let output_text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CommandError::Failed { command: display(command), status: output.status, output: output_text })
}

fn not_run(command: &Command, source: io::Error) -> CommandError {
    CommandError::Run { command: display(command), source }
}

fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
