//! Why the program cannot do its work.

use std::io;
use std::path::PathBuf;

/// Why the program cannot do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file could not be read.
    #[error("cannot read {path}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The description of an interface could not be read.
    #[error("{path} does not describe an interface", path = path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// There is no interface.
    #[error(
        "no interface {interface}: no {interface}.json in {folders}, and no device of that name. Is the volume \"usnet\" mounted?"
    )]
    NoInterface {
        /// Its name, or "of usnet".
        interface: String,
        /// Where descriptions were looked for.
        folders: String,
    },
    /// There are several, and none was named.
    #[error("there are several interfaces ({0}): name one with --interface")]
    SeveralInterfaces(String),
    /// The port could not be used.
    #[error("cannot use the port")]
    Port(#[from] usnet_endpoint::Error),
    /// The device of the kernel could not be used.
    #[error("cannot use device {device}; it needs CAP_NET_RAW")]
    Device {
        /// Its name.
        device: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Other instances of this program could not be asked or answered.
    #[error("cannot use the control socket @{name}")]
    Control {
        /// The abstract socket.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The answer of another instance of this program could not be read.
    #[error("the program that has the port gave no answer")]
    Answer(#[source] serde_json::Error),
    /// No engine is connected.
    #[error("no engine is connected to {0}")]
    NotConnected(String),
    /// The request does not suit the interface.
    #[error("{0}")]
    Request(String),
}
