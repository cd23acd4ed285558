//! Why a VPP for a test could not be started or asked.

use std::io;
use std::path::PathBuf;

/// Why a VPP for a test could not be started or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A real VPP was asked for and there is none.
    #[error("there is no VPP on this machine: set USNET_VPP to its program, or put `vpp` on PATH")]
    NoVpp,
    /// A program could not be started or waited for.
    #[error("cannot run {program}")]
    Run {
        /// The program.
        program: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file or socket in the folder could not be used.
    #[error("cannot use {path}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The temporary folder is so deep that sockets in it cannot be bound.
    #[error("the socket path {path} is longer than 107 bytes: set TMPDIR to a shorter path", path = .0.display())]
    PathTooLong(PathBuf),
    /// It did not come up.
    #[error("VPP is not ready: {problem}; the end of its output:\n{output}")]
    NotReady {
        /// What was waited for.
        problem: String,
        /// The last lines of its output.
        output: String,
    },
    /// It was to be started while it runs.
    #[error("this VPP runs already: kill it before starting it again")]
    RunsAlready,
    /// It was to be paused while it does not run.
    #[error("this VPP does not run: start it before")]
    NotRunning,
    /// It could not be asked.
    #[error("cannot ask VPP")]
    Client(#[from] usnet_vpp::Error),
    /// It refused what was asked.
    #[error("VPP did not do it")]
    Refused(#[from] usnet_vpp::ReplyError),
}

impl Error {
    /// For `map_err`: what could not be done with the file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
