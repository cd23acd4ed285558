//! What a pod requests for its own interface: by the networks annotation, which Multus passes as
//! `runtimeConfig` where the network configuration declares the capability, by `cni-args`
//! (`args.cni`), or by `CNI_ARGS`. If several of them request the same thing, the first of these
//! takes precedence. `spec.attachments` of the network overrides all of them.

use crate::protocol::arguments::Arguments;
use crate::protocol::configuration::{Configuration, ConfigurationError, DEFAULT_ROUTE};
use crate::protocol::error::ErrorCode;
use serde_json::Value;
use std::net::IpAddr;
use usnet_crds::{InvalidMac, InvalidRate, KilobitsPerSecond, MacAddress, RateLimit};

/// Bits in a kilobit, the unit of rates.
const KILOBIT: u64 = 1000;

/// Why a requested setting was rejected.
#[derive(Debug, thiserror::Error)]
pub enum PodRequestError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The MAC address.
    #[error("{requested_by} requests a MAC address that is not valid")]
    Mac {
        /// The source of the request.
        requested_by: &'static str,
        /// What is wrong with it.
        source: InvalidMac,
    },
    /// An address.
    #[error(
        "{requested_by} requests {text:?}, which is not an IP address: write it with or without a prefix length, for example 10.1.2.3/24"
    )]
    Address {
        /// The source of the request.
        requested_by: &'static str,
        /// Its text.
        text: String,
    },
    /// An address without a prefix length, where no IPAM knows the subnet.
    #[error(
        "the pod requests address {text}, and the network has no IPAM that knows its subnet: write it with a prefix length, for example {text}/24"
    )]
    NoPrefix {
        /// The requested address.
        text: String,
    },
    /// The gateways of default routes are invalid.
    #[error("\"default-route\" is {0}, which is not a list of gateway addresses: write for example [\"10.1.2.1\"]")]
    DefaultRoute(String),
    /// More than one default route of a family.
    #[error(
        "the pod requests default routes over {}: all of its interfaces together can have one for IPv4 and one for IPv6; remove the others from \"default-route\"",
        .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    )]
    DefaultRoutes(Vec<IpAddr>),
    /// The rate.
    #[error("\"runtimeConfig.bandwidth\" requests a rate that ports do not support")]
    Rate(#[source] InvalidRate),
    /// The key is not supported.
    #[error("\"{key}\" of the network configuration is {value}, which is not supported: {reason}")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// Why not, and how to correct it.
        reason: &'static str,
    },
}

impl PodRequestError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        const CNI_ARGS: &str = "CNI_ARGS";
        match self {
            Self::Configuration(error) => error.code(),
            Self::Mac { requested_by: CNI_ARGS, .. } | Self::Address { requested_by: CNI_ARGS, .. } => {
                ErrorCode::InvalidEnvironment
            }
            Self::Mac { .. }
            | Self::Address { .. }
            | Self::NoPrefix { .. }
            | Self::DefaultRoute(_)
            | Self::DefaultRoutes(_)
            | Self::Rate(_) => ErrorCode::InvalidConfiguration,
            Self::Unsupported { .. } => ErrorCode::UnsupportedField,
        }
    }
}

/// The settings that a pod requests for its own interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodRequest {
    /// Its MAC address.
    pub mac: Option<MacAddress>,
    /// The addresses, unparsed: IPAM plugins read the same text. For messages, and for networks
    /// without IPAM.
    pub ips: Vec<String>,
    /// How much it wants to send and receive at most.
    pub rate_limit: RateLimit,
    /// The gateways of its default routes, if those go over this interface; at most one per family.
    pub default_route: Vec<IpAddr>,
}

impl PodRequest {
    /// Reads the pod's requests.
    ///
    /// # Errors
    /// The setting that is rejected.
    pub fn read(configuration: &Configuration, arguments: &Arguments<'_>) -> Result<Self, PodRequestError> {
        let runtime = |key: &str| Ok::<_, ConfigurationError>(configuration.runtime()?.and_then(|all| all.get(key)));
        reject_port_mappings(runtime("portMappings")?)?;
        let sources = [
            ("\"runtimeConfig.mac\"", text(runtime("mac")?)),
            ("\"args.cni.mac\"", text(configuration.cni_arguments()?.and_then(|all| all.get("mac")))),
            ("CNI_ARGS", arguments.mac()),
        ];
        let mac = sources.into_iter().find_map(|(requested_by, mac)| Some((requested_by, mac?)));
        let mac = mac
            .map(|(requested_by, mac)| mac.parse().map_err(|source| PodRequestError::Mac { requested_by, source }))
            .transpose()?;
        let default_route = routers(configuration.cni_arguments()?.and_then(|all| all.get(DEFAULT_ROUTE)))?;
        let rate_limit = bandwidth(runtime("bandwidth")?)?;
        Ok(Self { mac, ips: addresses(configuration, arguments)?, rate_limit, default_route })
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

/// An engine does not support host ports.
fn reject_port_mappings(mappings: Option<&Value>) -> Result<(), PodRequestError> {
    match mappings.filter(|mappings| mappings.as_array().is_some_and(|mappings| !mappings.is_empty())) {
        None => Ok(()),
        Some(mappings) => Err(PodRequestError::Unsupported {
            key: "runtimeConfig.portMappings",
            value: mappings.to_string(),
            reason: "packets of this interface never pass the node's own network stack, which implements host ports; remove \"portMappings\" from the pod's annotation",
        }),
    }
}

fn addresses(configuration: &Configuration, arguments: &Arguments<'_>) -> Result<Vec<String>, PodRequestError> {
    let list = |value: Option<&Value>| {
        let entries = value.and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let runtime = configuration.runtime()?.and_then(|all| all.get("ips"));
    let by_arguments = arguments.ips().map(str::to_owned).collect();
    let sources = [
        ("\"runtimeConfig.ips\"", list(runtime)),
        ("\"args.cni.ips\"", list(configuration.cni_arguments()?.and_then(|all| all.get("ips")))),
        ("CNI_ARGS", by_arguments),
    ];
    let Some((requested_by, ips)) = sources.into_iter().find(|(_, ips)| !ips.is_empty()) else { return Ok(Vec::new()) };
    match ips.iter().find(|text| address(text).is_none()) {
        Some(wrong) => Err(PodRequestError::Address { requested_by, text: wrong.clone() }),
        None => Ok(ips),
    }
}

/// `default-route` of the annotation, for which the specification has no capability.
fn routers(value: Option<&Value>) -> Result<Vec<IpAddr>, PodRequestError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let wrong = || PodRequestError::DefaultRoute(value.to_string());
    let router = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).ok_or_else(wrong);
    let routers: Vec<IpAddr> = value.as_array().ok_or_else(wrong)?.iter().map(router).collect::<Result<_, _>>()?;
    require_one_per_family(&routers)?;
    Ok(routers)
}

/// Rejects more than one default route of a family: it would be undefined which of them is used.
///
/// # Errors
/// When there is more than one.
pub fn require_one_per_family(routers: &[IpAddr]) -> Result<(), PodRequestError> {
    let of_version_4 = routers.iter().filter(|router| router.is_ipv4()).count();
    let is_too_many = of_version_4 > 1 || routers.len() > of_version_4 + 1;
    if is_too_many { Err(PodRequestError::DefaultRoutes(routers.to_vec())) } else { Ok(()) }
}

/// The address of a text with or without a prefix length.
pub fn address(text: &str) -> Option<IpAddr> {
    text.split('/').next().and_then(|address| address.parse().ok())
}

/// Kubernetes counts bits per second, and so does `bandwidth`. Rounded up to a kilobit, so that a
/// pod never gets less than it requests.
fn bandwidth(bandwidth: Option<&Value>) -> Result<RateLimit, PodRequestError> {
    let rate = |key: &str| {
        let bits = bandwidth.and_then(|rates| rates.get(key)).and_then(Value::as_u64).filter(|bits| *bits > 0);
        let kilobits = bits.map(|bits| i64::try_from(bits.div_ceil(KILOBIT)).unwrap_or(i64::MAX));
        kilobits.map(KilobitsPerSecond::try_from).transpose().map_err(PodRequestError::Rate)
    };
    Ok(RateLimit { ingress_kbps: rate("ingressRate")?, egress_kbps: rate("egressRate")? })
}

#[cfg(test)]
mod tests;
