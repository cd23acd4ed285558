//! Programs that a release is made with: cargo, gzip, kubectl.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started, or its input not be written.
    #[error("cannot run {program}; is it installed?")]
    Run {
        /// Its name.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It ended with an error.
    #[error("{program} failed ({status}): {output}")]
    Failed {
        /// Its name.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it printed on standard error.
        output: String,
    },
}

/// A program of `USNET_TOOLS`, the folders that `e2e/tools/build` prints, or else of PATH.
#[must_use]
pub fn program(name: &str) -> Command {
    let tools = env::var_os("USNET_TOOLS").unwrap_or_default();
    let found = env::split_paths(&tools).map(|folder| folder.join(name)).find(|path| path.is_file());
    Command::new(found.unwrap_or_else(|| PathBuf::from(name)))
}

/// Runs a program with `input` and gives what it printed on standard output.
///
/// # Errors
/// When it cannot be started or does not end with status 0.
pub fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, CommandError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |source| CommandError::Run { program: program.clone(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let stdin = child.stdin.take();
    // The program may print before it has read everything: write and read at the same time.
    let (written, output) = std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(input)));
        let output = child.wait_with_output();
        (writer.join(), output)
    });
    let output = output.map_err(failed)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(CommandError::Failed { program, status: output.status, output: text });
    }
    written.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(failed)?;
    Ok(output.stdout)
}
