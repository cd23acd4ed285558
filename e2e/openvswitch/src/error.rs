//! Why an Open vSwitch for a test could not be started or asked.

use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Why an Open vSwitch for a test could not be started or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program is not installed.
    #[error("cannot find {path}: apt-get install openvswitch-switch-dpdk", path = .0.display())]
    MissingProgram(PathBuf),
    /// A program could not be started or waited for.
    #[error("cannot run `{program}`")]
    Run {
        /// The program.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The namespaces could not be made.
    #[error("cannot make the namespaces for Open vSwitch (are you root?): {0}")]
    Namespaces(String),
    /// A file in the folder could not be used.
    #[error("cannot use {path}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The temporary folder is so deep that sockets in it cannot be bound (107 bytes at most).
    #[error("the socket path {path} is longer than 107 bytes: set TMPDIR to a shorter path", path = .0.display())]
    PathTooLong(PathBuf),
    /// A daemon did not come up.
    #[error("{daemon} is not ready: {problem}; the end of its log:\n{log}")]
    NotReady {
        /// The program.
        daemon: &'static str,
        /// What was waited for.
        problem: String,
        /// The last lines of its log.
        log: String,
    },
    /// A daemon was to be started while it runs.
    #[error("{0} runs already")]
    RunsAlready(&'static str),
    /// The database holds something else than a new one should.
    #[error("{what} in the database is not a number: {observed:?}")]
    Unexpected {
        /// The column.
        what: &'static str,
        /// What `ovs-vsctl` showed.
        observed: String,
    },
    /// A command did not exit with 0.
    #[error("`{command}` failed: {problem}")]
    CommandFailed {
        /// The program and its arguments.
        command: String,
        /// Its exit status and what it wrote to standard error.
        problem: String,
    },
}

impl Error {
    /// The error of a program that could not be started.
    pub(crate) fn program(command: &Command, source: io::Error) -> Self {
        let program = command.get_program();
        if source.kind() == io::ErrorKind::NotFound {
            Self::MissingProgram(program.into())
        } else {
            Self::Run { program: program.to_string_lossy().into_owned(), source }
        }
    }
}
