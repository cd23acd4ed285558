//! What a pod requests for its own interface: by the networks annotation, which Multus passes as
//! `runtimeConfig` where the network configuration declares the capability, by `cni-args`
//! (`args.cni`), or by `CNI_ARGS`. If several of them request the same thing, the first of these
//! takes precedence. `spec.attachments` of the network overrides all of them. Pure.

use crate::protocol::arguments::Arguments;
use crate::protocol::configuration::{Configuration, ConfigurationError, DEFAULT_ROUTE};
use crate::protocol::error::ErrorCode;
use serde_json::Value;
use std::net::IpAddr;
use usnet_crds::{InvalidMac, InvalidRate, KilobitsPerSecond, MacAddress, RateLimit};

/// The number of bits in a kilobit, the unit of rates.
const KILOBIT: u64 = 1000;

/// In all errors `requested_by` is the source of the request.
#[derive(Debug, thiserror::Error)]
pub enum PodRequestError {
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("{requested_by} requests a MAC address that is not valid")]
    Mac { requested_by: &'static str, source: InvalidMac },
    #[error(
        "{requested_by} requests {text:?}, which is not an IP address: write it with or without a prefix length, for example 10.1.2.3/24"
    )]
    Address { requested_by: &'static str, text: String },
    /// An address has no prefix length, and no IPAM plugin knows the subnet.
    #[error(
        "the pod requests address {text}, and the network has no IPAM that knows its subnet: write it with a prefix length, for example {text}/24"
    )]
    NoPrefix { text: String },
    #[error("\"default-route\" is {0}, which is not a list of gateway addresses: write for example [\"10.1.2.1\"]")]
    DefaultRoute(String),
    #[error(
        "the pod requests default routes over {}: all of its interfaces together can have one for IPv4 and one for IPv6; remove the others from \"default-route\"",
        .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    )]
    DefaultRoutes(Vec<IpAddr>),
    #[error("\"runtimeConfig.bandwidth\" requests a rate that ports do not support")]
    Rate(#[source] InvalidRate),
    #[error("\"{key}\" of the network configuration is {value}, which is not supported: {reason}")]
    Unsupported {
        key: &'static str,
        value: String,
        /// Why the key is not supported, and how to correct it.
        reason: &'static str,
    },
}

impl PodRequestError {
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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodRequest {
    pub mac: Option<MacAddress>,
    /// The addresses as the pod writes them: IPAM plugins read the same text.
    pub ips: Vec<String>,
    pub rate_limit: RateLimit,
    /// The gateways of the pod's default routes, if those go over this interface; at most one per
    /// family.
    pub default_route: Vec<IpAddr>,
}

impl PodRequest {
    pub fn read(configuration: &Configuration, arguments: &Arguments<'_>) -> Result<Self, PodRequestError> {
        let runtime_config =
            |key: &str| Ok::<_, ConfigurationError>(configuration.runtime_config()?.and_then(|all| all.get(key)));
        reject_port_mappings(runtime_config("portMappings")?)?;
        let sources = [
            ("\"runtimeConfig.mac\"", text(runtime_config("mac")?)),
            ("\"args.cni.mac\"", text(configuration.cni_args()?.and_then(|all| all.get("mac")))),
            ("CNI_ARGS", arguments.mac()),
        ];
        let mac = sources.into_iter().find_map(|(requested_by, mac)| Some((requested_by, mac?)));
        let mac = mac
            .map(|(requested_by, mac)| mac.parse().map_err(|source| PodRequestError::Mac { requested_by, source }))
            .transpose()?;
        let default_route = gateways(configuration.cni_args()?.and_then(|all| all.get(DEFAULT_ROUTE)))?;
        let rate_limit = bandwidth(runtime_config("bandwidth")?)?;
        Ok(Self { mac, ips: addresses(configuration, arguments)?, rate_limit, default_route })
    }
}

fn text(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| !text.is_empty())
}

/// Rejects host ports, which engines do not support.
fn reject_port_mappings(mappings: Option<&Value>) -> Result<(), PodRequestError> {
    match mappings.filter(|mappings| mappings.as_array().is_some_and(|mappings| !mappings.is_empty())) {
        None => Ok(()),
        Some(mappings) => Err(PodRequestError::Unsupported {
            key: "runtimeConfig.portMappings",
            value: mappings.to_string(),
            reason: "this plugin implements no host ports: use a network with spec.nodeAccess, list the plugin portmap with that capability after this one in a NetworkAttachmentDefinition, and remove the capability portMappings from this one; otherwise remove \"portMappings\" from the pod's annotation",
        }),
    }
}

fn addresses(configuration: &Configuration, arguments: &Arguments<'_>) -> Result<Vec<String>, PodRequestError> {
    let list = |value: Option<&Value>| {
        let entries = value.and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let runtime_config = configuration.runtime_config()?.and_then(|all| all.get("ips"));
    let by_arguments = arguments.ips().map(str::to_owned).collect();
    let sources = [
        ("\"runtimeConfig.ips\"", list(runtime_config)),
        ("\"args.cni.ips\"", list(configuration.cni_args()?.and_then(|all| all.get("ips")))),
        ("CNI_ARGS", by_arguments),
    ];
    let Some((requested_by, ips)) = sources.into_iter().find(|(_, ips)| !ips.is_empty()) else { return Ok(Vec::new()) };
    match ips.iter().find(|text| address(text).is_none()) {
        Some(wrong) => Err(PodRequestError::Address { requested_by, text: wrong.clone() }),
        None => Ok(ips),
    }
}

/// The gateways in `default-route` of the annotation, for which the specification has no
/// capability.
fn gateways(value: Option<&Value>) -> Result<Vec<IpAddr>, PodRequestError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    let wrong = || PodRequestError::DefaultRoute(value.to_string());
    let gateway = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).ok_or_else(wrong);
    let gateways: Vec<IpAddr> = value.as_array().ok_or_else(wrong)?.iter().map(gateway).collect::<Result<_, _>>()?;
    require_one_per_family(&gateways)?;
    Ok(gateways)
}

/// Rejects more than one default route of a family: it would be undefined which of them is used.
pub fn require_one_per_family(gateways: &[IpAddr]) -> Result<(), PodRequestError> {
    let of_version_4 = gateways.iter().filter(|gateway| gateway.is_ipv4()).count();
    let are_too_many = of_version_4 > 1 || gateways.len() > of_version_4 + 1;
    if are_too_many { Err(PodRequestError::DefaultRoutes(gateways.to_vec())) } else { Ok(()) }
}

/// Parses an address with or without a prefix length, which is ignored.
pub fn address(text: &str) -> Option<IpAddr> {
    text.split('/').next().and_then(|address| address.parse().ok())
}

/// The requested rates. `bandwidth` is in bits per second, like Kubernetes' own annotations. Rates
/// are rounded up to a kilobit, so that a pod never gets less than it requests.
fn bandwidth(bandwidth: Option<&Value>) -> Result<RateLimit, PodRequestError> {
    let rate = |key: &str| {
        let bits = bandwidth.and_then(|rates| rates.get(key)).and_then(Value::as_u64).filter(|bits| *bits > 0);
        let kilobits = bits.map(|bits| i64::try_from(bits.div_ceil(KILOBIT)).unwrap_or(i64::MAX));
        kilobits.map(KilobitsPerSecond::try_from).transpose().map_err(PodRequestError::Rate)
    };
    Ok(RateLimit { ingress_kbps: rate("ingressRate")?, egress_kbps: rate("egressRate")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(configuration: &Value, arguments: &str) -> Result<PodRequest, PodRequestError> {
        let configuration = Configuration::parse(configuration.to_string().as_bytes()).unwrap();
        PodRequest::read(&configuration, &Arguments::parse(arguments).unwrap())
    }

    fn mac(last: u8) -> String {
        format!("02:00:00:00:00:{last:02x}")
    }

    #[test]
    fn capabilities_override_args_of_the_configuration_and_those_override_cni_args() {
        let mut configuration = json!({
            "runtimeConfig": {"mac": mac(1), "ips": ["10.0.0.1/24", "fd00::1"]}, "args": {"cni": {"mac": mac(2), "ips": ["10.0.0.2"]}}
        });
        let arguments = format!("MAC={};IP=10.0.0.3,fd00::3/64", mac(3));
        let requested = |configuration: &Value| {
            let PodRequest { mac, ips, .. } = read(configuration, &arguments).unwrap();
            (mac.unwrap().to_string(), ips.join(" "))
        };
        assert_eq!(requested(&configuration), (mac(1), "10.0.0.1/24 fd00::1".to_owned()));
        configuration["runtimeConfig"] = json!({});
        assert_eq!(requested(&configuration), (mac(2), "10.0.0.2".to_owned()));
        configuration["args"] = json!({"cni": {"mac": "", "ips": []}});
        assert_eq!(requested(&configuration), (mac(3), "10.0.0.3 fd00::3/64".to_owned()));
        assert_eq!(read(&json!({}), "").unwrap(), PodRequest::default());
    }

    #[test]
    fn bandwidth_is_in_bits_and_rounded_up_and_zero_is_no_limit() {
        let limit =
            |bandwidth: Value| read(&json!({"runtimeConfig": {"bandwidth": bandwidth}}), "").map(|it| it.rate_limit);
        let rate = |kilobits: i64| Some(KilobitsPerSecond::try_from(kilobits).unwrap());
        let requested = limit(json!({"ingressRate": 2_000_001, "ingressBurst": 1, "egressRate": 0})).unwrap();
        assert_eq!(requested, RateLimit { ingress_kbps: rate(2001), egress_kbps: None });
        assert_eq!(limit(json!({"egressRate": 999})).unwrap().egress_kbps, rate(1));
        assert!(matches!(limit(json!({"egressRate": u64::MAX})), Err(PodRequestError::Rate(_))));
    }

    #[test]
    fn unsupported_settings_are_rejected_by_key_and_value() {
        let rejected = |configuration: Value, arguments: &str| {
            let error = read(&configuration, arguments).unwrap_err();
            error.to_string()
        };
        let mappings = json!({"runtimeConfig": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}});
        let reported = rejected(mappings, "");
        assert!(reported.contains("runtimeConfig.portMappings") && reported.contains("8080"), "{reported}");
        assert!(read(&json!({"runtimeConfig": {"portMappings": []}}), "").is_ok());
        assert!(rejected(json!({"runtimeConfig": {"mac": "01:00:00:00:00:00"}}), "").contains("runtimeConfig.mac"));
        assert!(rejected(json!({}), "MAC=x").contains("CNI_ARGS"));
        assert!(rejected(json!({}), "IP=10.0.0").contains("\"10.0.0\""));
        assert!(rejected(json!({"args": {"cni": {"ips": ["x/24"]}}}), "").contains("args.cni.ips"));
        assert!(rejected(json!({"runtimeConfig": []}), "").contains("runtimeConfig"));
    }
}
