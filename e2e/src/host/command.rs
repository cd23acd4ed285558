//! Runs a program until it exits.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("cannot run {command}")]
    Run {
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("{command} failed ({status}): {output}")]
    Failed { command: String, status: std::process::ExitStatus, output: String },
}

/// Returns a command for this program, as another process of the test bed.
pub fn this_program() -> io::Result<Command> {
    std::env::current_exe().map(Command::new)
}

/// Runs a command, and returns its standard output if it succeeds.
pub fn run(command: &mut Command) -> Result<String, CommandError> {
    let output = command.stdin(Stdio::null()).output().map_err(|source| run_error(command, source))?;
    finish(command, &output)
}

/// Like [`run`], with `input` on the standard input of the command.
pub fn run_with_input(command: &mut Command, input: &str) -> Result<String, CommandError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| run_error(command, source))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|source| run_error(command, source))?;
    }
    let output = child.wait_with_output().map_err(|source| run_error(command, source))?;
    finish(command, &output)
}

fn finish(command: &Command, output: &Output) -> Result<String, CommandError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let output_text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(CommandError::Failed { command: display(command), status: output.status, output: output_text })
}

fn run_error(command: &Command, source: io::Error) -> CommandError {
    CommandError::Run { command: display(command), source }
}

fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
