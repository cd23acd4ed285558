//! Errors of a VPP for a test.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("there is no VPP on this machine: set USNET_VPP to its program, or put `vpp` on PATH")]
    NoVpp,
    #[error("cannot run {program}")]
    Run {
        program: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("cannot use {path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the socket path {path} is longer than 107 bytes: set TMPDIR to a shorter path", path = .0.display())]
    PathTooLong(PathBuf),
    #[error("VPP is not ready: {problem}; the end of its output:\n{output}")]
    NotReady { problem: String, output: String },
    #[error("this VPP is already running: kill it before starting it again")]
    RunsAlready,
    #[error("this VPP does not run: start it first")]
    NotRunning,
    #[error("a request to VPP failed")]
    Client(#[from] usnet_vpp::Error),
    #[error("VPP refused a request")]
    Refused(#[from] usnet_vpp::ReplyError),
}

impl Error {
    /// Returns a function for `map_err`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
