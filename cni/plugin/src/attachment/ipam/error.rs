//! Why addresses could not be assigned or released.

use crate::protocol::environment::EnvironmentError;
use crate::protocol::error::ErrorCode;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Why addresses could not be assigned or released.
#[derive(Debug, thiserror::Error)]
pub enum IpamError {
    /// The configuration does not name a plugin.
    #[error("\"ipam\" has no valid \"type\": set it to the name of an IPAM plugin, for example host-local")]
    NoType,
    /// The search path of plugins is not set.
    #[error("cannot search for IPAM plugin {0}")]
    NoFolders(String, #[source] EnvironmentError),
    /// The plugin is not installed.
    #[error("IPAM plugin {plugin} is not installed on this node: install it in one of {}", folders.join(", "))]
    NotInstalled {
        /// The `type` of its configuration.
        plugin: String,
        /// The search path.
        folders: Vec<String>,
    },
    /// The plugin could not be started.
    #[error("cannot run IPAM plugin {}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The plugin did not end.
    #[error("IPAM plugin {plugin} did not end within {} s and was killed", timeout.as_secs())]
    TimedOut {
        /// The `type` of its configuration.
        plugin: String,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// The plugin returned an error of the specification's format.
    #[error("IPAM plugin {plugin}: {msg}")]
    Rejected {
        /// The `type` of its configuration.
        plugin: String,
        /// Its CNI code, which is passed on to the runtime.
        code: u32,
        /// Its message, in its own words.
        msg: String,
        /// Its details; empty when it gives none.
        details: String,
    },
    /// The plugin failed without an error of the specification's format.
    #[error("IPAM plugin {plugin} failed ({status}): {output:?}")]
    Failed {
        /// The `type` of its configuration.
        plugin: String,
        /// How it ended.
        status: String,
        /// The end of its output.
        output: String,
    },
    /// The plugin's answer is not a result.
    #[error("the output of IPAM plugin {0} is not a CNI result")]
    Undecodable(String, #[source] serde_json::Error),
    /// The plugin did not assign the static addresses of the pod.
    #[error(
        "IPAM plugin {plugin} did not assign {address}, which spec.attachments of the network reserves for this pod: use a plugin that supports the capability \"ips\", such as host-local or static"
    )]
    StaticIpNotAssigned {
        /// The `type` of its configuration.
        plugin: String,
        /// The address.
        address: IpAddr,
    },
    /// The plugin needs an interface of the kernel, and the port has none.
    #[error(
        "IPAM plugin {0} requests addresses over the pod's interface, and this network's ports are sockets that only the pod's program can use: let that program request them, and use another IPAM plugin or none, or port.type Veth"
    )]
    NeedsInterface(String),
    /// The plugin assigned no address.
    #[error("IPAM plugin {0} assigned no address")]
    NoAddress(String),
}

impl IpamError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoType | Self::NeedsInterface(_) => ErrorCode::InvalidConfiguration,
            Self::NoFolders(..) => ErrorCode::InvalidEnvironment,
            Self::Run { .. } => ErrorCode::IoFailure,
            Self::Undecodable(..) => ErrorCode::DecodingFailure,
            Self::NotInstalled { .. }
            | Self::TimedOut { .. }
            | Self::Rejected { .. }
            | Self::Failed { .. }
            | Self::StaticIpNotAssigned { .. }
            | Self::NoAddress(_) => ErrorCode::IpamFailed,
        }
    }
}
