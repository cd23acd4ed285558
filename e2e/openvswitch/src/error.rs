//! Errors of an Open vSwitch for a test.

use std::io;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot find {path}: apt-get install openvswitch-switch-dpdk", path = .0.display())]
    MissingProgram(PathBuf),
    #[error("cannot run `{program}`")]
    Run {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot create the namespaces for Open vSwitch (are you root?): {0}")]
    Namespaces(String),
    #[error("cannot use {path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The path of the temporary folder is so long that sockets in it cannot be bound (107 bytes at
    /// most).
    #[error("the socket path {path} is longer than 107 bytes: set TMPDIR to a shorter path", path = .0.display())]
    PathTooLong(PathBuf),
    #[error("{daemon} is not ready: {problem}; the end of its log:\n{log}")]
    NotReady { daemon: &'static str, problem: String, log: String },
    #[error("{0} is already running")]
    RunsAlready(&'static str),
    /// The database differs from a new one.
    #[error("{what} in the database is not a number: {observed:?}")]
    Unexpected {
        what: &'static str,
        /// The output of `ovs-vsctl`.
        observed: String,
    },
    #[error("`{command}` failed: {problem}")]
    CommandFailed {
        command: String,
        /// The exit status, and the text on standard error.
        problem: String,
    },
}

impl Error {
    pub(crate) fn program(command: &Command, source: io::Error) -> Self {
        let program = command.get_program();
        if source.kind() == io::ErrorKind::NotFound {
            Self::MissingProgram(program.into())
        } else {
            Self::Run { program: program.to_string_lossy().into_owned(), source }
        }
    }
}
