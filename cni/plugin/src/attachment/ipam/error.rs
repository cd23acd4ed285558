//! Why addresses could not be assigned or released.

use crate::protocol::environment::EnvironmentError;
use crate::protocol::error::ErrorCode;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The first code that the specification leaves to plugins.
const OWN_CODES: u32 = 100;

/// Why addresses could not be assigned or released.
#[derive(Debug, thiserror::Error)]
pub enum IpamError {
    /// The configuration does not name a plugin.
    #[error("\"ipam\" has no valid \"type\": set it to the name of an IPAM plugin, for example host-local")]
    NoType,
    /// It names this plugin, which would wait for its own lock.
    #[error(
        "\"ipam.type\" is {0:?}, which is the plugin that attaches pods and assigns no addresses: set it to the name of an IPAM plugin, for example host-local"
    )]
    OwnPlugin(String),
    /// The agent does not allow network configurations to name the plugin.
    #[error(
        "\"ipam.type\" of the network configuration is {plugin:?}, and this node allows the IPAM plugins {}: use one of them, set spec.ipam of the UserspaceNetwork, or start the usnet agent with --definition-ipam-plugins",
        allowed.join(", ")
    )]
    PluginNotAllowed {
        /// The plugin.
        plugin: String,
        /// The plugins that are allowed.
        allowed: Vec<String>,
    },
    /// The agent does not allow network configurations to have the key.
    #[error(
        "\"ipam.{0}\" of the network configuration is not allowed on this node: remove it, set it in spec.ipam of the UserspaceNetwork, or start the usnet agent with --definition-ipam-keys={0}"
    )]
    KeyNotAllowed(String),
    /// The service for attachments does not run the plugin.
    #[error(
        "the service for attachments does not run IPAM plugin {0}: add it to USNET_IPAM_PLUGINS of the container `attach` of the agent's pods"
    )]
    NotOfService(String),
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
    #[error("IPAM plugin {plugin}: {msg}{}", exhausted_advice(msg))]
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
    /// The pod would have the address of the gateway.
    #[error(
        "address {0} was assigned to the pod, and the gateway of the network has it (spec.gateway): assign or request another one"
    )]
    OfGateway(IpAddr),
    /// The pod has no address to which packets could be routed.
    #[error(
        "the pod gets no address, and packets reach a memif in IP mode by its addresses alone: set spec.ipam of the network, or request addresses"
    )]
    NothingToRoute,
    /// The gateway is in no subnet with the address.
    #[error(
        "address {0} was assigned to the pod, and is in no subnet of the gateway (spec.gateway.addresses), which routes to memifs in IP mode: assign or request another one"
    )]
    NotRouted(IpAddr),
    /// The plugin assigned no address.
    #[error("IPAM plugin {0} assigned no address")]
    NoAddress(String),
}

impl IpamError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoType
            | Self::OwnPlugin(_)
            | Self::PluginNotAllowed { .. }
            | Self::NotOfService(_)
            | Self::KeyNotAllowed(_)
            | Self::NeedsInterface(_)
            | Self::OfGateway(_)
            | Self::NothingToRoute
            | Self::NotRouted(_) => ErrorCode::InvalidConfiguration,
            Self::NoFolders(..) => ErrorCode::InvalidEnvironment,
            Self::Run { .. } => ErrorCode::IoFailure,
            Self::Undecodable(..) => ErrorCode::DecodingFailure,
            Self::Rejected { msg, .. } if is_exhausted(msg) => ErrorCode::AddressesExhausted,
            Self::NotInstalled { .. }
            | Self::TimedOut { .. }
            | Self::Rejected { .. }
            | Self::Failed { .. }
            | Self::StaticIpNotAssigned { .. }
            | Self::NoAddress(_) => ErrorCode::IpamFailed,
        }
    }

    /// The CNI code as a number. One of the specification is passed on; the others of an IPAM
    /// plugin would mean something else here, and 999 is what CNI's own plugins say for any
    /// failure.
    pub fn number(&self) -> u32 {
        match self {
            Self::Rejected { code, .. } if *code < OWN_CODES => *code,
            other => other.code().number(),
        }
    }

    /// Whether the plugin may hold an address although its ADD failed with this error. One that
    /// was killed may have been about to answer.
    pub fn may_hold_address(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. }
                | Self::StaticIpNotAssigned { .. }
                | Self::OfGateway(_)
                | Self::NothingToRoute
                | Self::NotRouted(_)
        )
    }
}

/// Whether an IPAM plugin says that all addresses are assigned. There is no code for it; these are
/// the words of host-local and of whereabouts.
fn is_exhausted(message: &str) -> bool {
    ["no IP addresses available in range set", "Could not allocate IP in range"]
        .iter()
        .any(|text| message.contains(text))
}

fn exhausted_advice(message: &str) -> &'static str {
    match is_exhausted(message) {
        true => ". All addresses are assigned: enlarge the range in spec.ipam of the network, or delete pods",
        false => "",
    }
}
