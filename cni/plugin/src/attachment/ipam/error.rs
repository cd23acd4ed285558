//! The errors of IPAM plugins and of assigned addresses.

use crate::protocol::environment::EnvironmentError;
use crate::protocol::error::ErrorCode;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The first code that the specification leaves to plugins.
const OWN_CODES: u32 = 100;

/// In all errors `plugin` is the `type` of the plugin's configuration.
#[derive(Debug, thiserror::Error)]
pub enum IpamError {
    #[error("\"ipam\" has no valid \"type\": set it to the name of an IPAM plugin, for example host-local")]
    NoType,
    /// This plugin would wait for its own lock.
    #[error(
        "\"ipam.type\" is {0:?}, which is the plugin that attaches pods and assigns no addresses: set it to the name of an IPAM plugin, for example host-local"
    )]
    IsThisPlugin(String),
    /// The agent does not allow network configurations to name the plugin.
    #[error(
        "\"ipam.type\" of the network configuration is {plugin:?}, and this node allows the IPAM plugins {}: use one of them, set spec.ipam of the UserspaceNetwork, or start the usnet agent with --definition-ipam-plugins",
        allowed.join(", ")
    )]
    PluginNotAllowed { plugin: String, allowed: Vec<String> },
    /// The agent does not allow network configurations to have the key.
    #[error(
        "\"ipam.{0}\" of the network configuration is not allowed on this node: remove it, set it in spec.ipam of the UserspaceNetwork, or start the usnet agent with --definition-ipam-keys={0}"
    )]
    KeyNotAllowed(String),
    #[error(
        "the service for attachments does not run IPAM plugin {0}: add it to USNET_IPAM_PLUGINS of the container `attach` of the agent's pods"
    )]
    NotAllowedByService(String),
    #[error("cannot search for IPAM plugin {0}")]
    NoSearchPath(String, #[source] EnvironmentError),
    #[error("IPAM plugin {plugin} is not installed on this node: install it in one of {}", folders.join(", "))]
    NotInstalled { plugin: String, folders: Vec<String> },
    #[error("cannot run IPAM plugin {}", program.display())]
    Run { program: PathBuf, source: io::Error },
    #[error("IPAM plugin {plugin} did not end within {} s and was killed", timeout.as_secs())]
    TimedOut { plugin: String, timeout: Duration },
    /// The plugin returned an error in the specification's format.
    #[error("IPAM plugin {plugin}: {msg}{}", exhausted_advice(msg))]
    Rejected { plugin: String, code: u32, msg: String, details: String },
    /// The plugin failed without an error in the specification's format.
    #[error("IPAM plugin {plugin} failed ({status}): {output:?}")]
    Failed {
        plugin: String,
        status: String,
        /// The end of the output.
        output: String,
    },
    #[error("the output of IPAM plugin {0} is not a CNI result")]
    Undecodable(String, #[source] serde_json::Error),
    #[error(
        "IPAM plugin {plugin} did not assign {address}, which spec.attachments of the network reserves for this pod: use a plugin that supports the capability \"ips\", such as host-local or static"
    )]
    StaticIpNotAssigned { plugin: String, address: IpAddr },
    /// The plugin needs an interface of the kernel, and the port has none.
    #[error(
        "IPAM plugin {0} requests addresses over the pod's interface, and this network's ports are sockets that only the pod's program can use: let that program request them, and use another IPAM plugin or none, or port.type Veth"
    )]
    NeedsInterface(String),
    #[error(
        "address {0} was assigned to the pod, and the gateway of the network has it (spec.gateway): assign or request another one"
    )]
    AddressOfGateway(IpAddr),
    #[error(
        "address {0} was assigned to the pod, and the node has it in the network (spec.nodeAccess): assign or request another one"
    )]
    AddressOfNode(IpAddr),
    /// The pod has no address to which packets could be routed.
    #[error(
        "the pod gets no address, and packets reach a memif in IP mode by its addresses alone: set spec.ipam of the network, or request addresses"
    )]
    NoRoutedAddress,
    #[error(
        "address {0} was assigned to the pod, and is in no subnet of the gateway (spec.gateway.addresses), which routes to memifs in IP mode: assign or request another one"
    )]
    NotInGatewaySubnet(IpAddr),
    /// Nothing that the pod sends would be forwarded.
    #[error(
        "the pod gets no address, and may send from its addresses alone (port.antiSpoofing Address): set spec.ipam of the network, request addresses, or use antiSpoofing MAC"
    )]
    NoGuardedAddress,
    #[error("IPAM plugin {0} assigned no address")]
    NoAddress(String),
}

impl IpamError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoType
            | Self::IsThisPlugin(_)
            | Self::PluginNotAllowed { .. }
            | Self::NotAllowedByService(_)
            | Self::KeyNotAllowed(_)
            | Self::NeedsInterface(_)
            | Self::AddressOfGateway(_)
            | Self::AddressOfNode(_)
            | Self::NoRoutedAddress
            | Self::NoGuardedAddress
            | Self::NotInGatewaySubnet(_) => ErrorCode::InvalidConfiguration,
            Self::NoSearchPath(..) => ErrorCode::InvalidEnvironment,
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

    /// The CNI code as a number. The plugin's code is passed on if the specification defines it.
    /// Other codes would mean something else here, and CNI's own plugins return 999 for any
    /// failure.
    pub fn number(&self) -> u32 {
        match self {
            Self::Rejected { code, .. } if *code < OWN_CODES => *code,
            other => other.code().number(),
        }
    }

    /// Whether the plugin may hold an address although its ADD failed with this error. A plugin
    /// that was killed may have been about to answer.
    pub fn may_hold_address(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. }
                | Self::StaticIpNotAssigned { .. }
                | Self::AddressOfGateway(_)
                | Self::AddressOfNode(_)
                | Self::NoRoutedAddress
                | Self::NoGuardedAddress
                | Self::NotInGatewaySubnet(_)
        )
    }
}

/// Whether an IPAM plugin reports that all addresses are assigned. There is no code for that; these
/// are the texts of host-local and of whereabouts.
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
