//! Why the program cannot do its work.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} does not describe an interface", path = path.display())]
    Description {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error(
        "no interface {interface}: no {interface}.json in {folders}, and no device of that name. Is the volume \"usnet\" mounted?"
    )]
    NoInterface {
        interface: String,
        /// The folders in which descriptions were looked for.
        folders: String,
    },
    #[error("there are several interfaces ({0}): name one with --interface")]
    SeveralInterfaces(String),
    #[error("cannot use the port")]
    Port(#[from] usnet_endpoint::Error),
    #[error("cannot use device {device}; it needs CAP_NET_RAW")]
    Device {
        device: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot use the control socket @{name}")]
    Control {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("the program that has the port sent no valid answer")]
    Answer(#[source] serde_json::Error),
    #[error("no engine is connected to {0}")]
    NotConnected(String),
    /// The request does not suit the interface.
    #[error("{0}")]
    Request(String),
}

/// Returns an error with its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
