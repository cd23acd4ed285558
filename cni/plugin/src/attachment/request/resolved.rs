//! The request for one interface of a pod on its network. Of each setting the first of these
//! counts: `spec.attachments` of the network, the pod, what is generated. Pure.

use super::gateway;
use super::pod_request::{self, PodRequest, PodRequestError};
use super::static_ips::{self, ReservedAddresses};
use serde_json::Value;
use std::net::IpAddr;
use usnet_crds::{Gateway, InterfaceAddress, MacAddress, NodeAccess, NodeNetwork};
use usnet_dataplane::attachment::{Address, Pod};

/// The addresses and routes that one interface is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedRequest {
    pub mac: MacAddress,
    /// The addresses that IPAM must assign: those of `spec.attachments`. On a network without IPAM
    /// these are the addresses of the interface, also those that the pod requests. If there are
    /// none, IPAM chooses.
    pub static_ips: Vec<InterfaceAddress>,
    pub reserved: ReservedAddresses,
    pub gateway: Option<Gateway>,
    /// The node itself in the network.
    pub node_access: Option<NodeAccess>,
    /// The gateways of the pod's default routes, if those go over this interface.
    pub default_route: Vec<IpAddr>,
    /// The addresses that the pod requests, as it writes them.
    requested_ips: Vec<String>,
}

impl ResolvedRequest {
    /// Resolves the request of a pod. Without any MAC address in it the interface has
    /// `default_mac`. `has_ipam` is whether an IPAM plugin assigns addresses.
    ///
    /// # Errors
    /// The pod requests an address without a prefix length, and there is no IPAM plugin that knows
    /// its subnet.
    pub fn new(
        request: &PodRequest,
        network: &NodeNetwork,
        pod: &Pod,
        default_mac: MacAddress,
        has_ipam: bool,
    ) -> Result<Self, PodRequestError> {
        let entry = network.fixed(&pod.namespace, &pod.name);
        let static_mac = entry.as_ref().and_then(|entry| entry.mac);
        let mut static_ips = entry.map(|entry| entry.ips).unwrap_or_default();
        let are_ips_static = !static_ips.is_empty();
        if !are_ips_static && !has_ipam {
            static_ips = request.ips.iter().map(|text| with_prefix(text)).collect::<Result<_, _>>()?;
        }
        let mac = static_mac.or(request.mac);
        let reserved = ReservedAddresses {
            ips: match static_ips.as_slice() {
                [] => request.ips.iter().filter_map(|text| pod_request::address(text)).collect(),
                ips => ips.iter().map(|ip| ip.ip()).collect(),
            },
            are_ips_static,
            mac,
            is_mac_static: static_mac.is_some(),
        };
        Ok(Self {
            mac: mac.unwrap_or(default_mac),
            static_ips,
            reserved,
            gateway: network.gateway.clone(),
            node_access: network.node_access.clone(),
            default_route: request.default_route.clone(),
            requested_ips: request.ips.clone(),
        })
    }

    /// The configuration for the IPAM plugin with a request for these addresses, and with the
    /// gateway in its ranges.
    pub fn add_to_ipam(&self, configuration: Value) -> Value {
        let configuration = gateway::set_in_ranges(configuration, self.gateway.as_ref());
        match self.static_ips.as_slice() {
            [] => static_ips::request_ips(configuration, &self.requested_ips),
            ips => static_ips::request_static_ips(configuration, ips),
        }
    }

    /// The addresses that are known before IPAM runs, in the form of the record.
    pub fn recorded_ips(&self) -> Vec<Address> {
        self.static_ips.iter().map(|ip| Address { ip: ip.ip(), prefix: ip.prefix() }).collect()
    }
}

fn with_prefix(text: &str) -> Result<InterfaceAddress, PodRequestError> {
    text.parse().map_err(|_| PodRequestError::NoPrefix { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use usnet_dataplane::testing::network;

    const GENERATED: &str = "02:00:00:00:00:99";

    fn resolve(entry: &Value, request: &PodRequest, has_ipam: bool) -> Result<ResolvedRequest, PodRequestError> {
        let mut entry = entry.clone();
        (entry["namespace"], entry["pod"]) = (json!("db"), json!("p"));
        let network = NodeNetwork { attachments: vec![serde_json::from_value(entry).unwrap()], ..network("blue") };
        let pod = Pod { namespace: "db".into(), name: "p".into(), uid: "0-1".parse().unwrap() };
        ResolvedRequest::new(request, &network, &pod, GENERATED.parse().unwrap(), has_ipam)
    }

    fn requesting(ips: &[&str], mac: Option<&str>) -> PodRequest {
        let ips = ips.iter().map(|text| (*text).to_owned()).collect();
        PodRequest { ips, mac: mac.map(|mac| mac.parse().unwrap()), ..PodRequest::default() }
    }

    fn static_ips(request: &ResolvedRequest) -> Vec<String> {
        request.static_ips.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_entry_of_the_network_overrides_the_pod_and_the_pod_overrides_what_is_generated() {
        let pod = requesting(&["10.0.0.7/24"], Some("02:00:00:00:00:02"));
        let both = json!({"ips": ["10.0.0.5/24"], "mac": "02:00:00:00:00:01"});
        let resolved = resolve(&both, &pod, true).unwrap();
        assert_eq!(
            (static_ips(&resolved), resolved.mac.to_string()),
            (vec!["10.0.0.5/24".into()], "02:00:00:00:00:01".into())
        );
        assert_eq!(resolved.reserved.ips, ["10.0.0.5".parse::<IpAddr>().unwrap()]);
        assert!(resolved.reserved.are_ips_static && resolved.reserved.is_mac_static);

        let resolved = resolve(&json!({}), &pod, true).unwrap();
        assert_eq!((static_ips(&resolved), resolved.mac.to_string()), (vec![], "02:00:00:00:00:02".into()));
        assert_eq!(resolved.reserved.ips, ["10.0.0.7".parse::<IpAddr>().unwrap()], "IPAM is asked for it");
        assert!(!resolved.reserved.are_ips_static && !resolved.reserved.is_mac_static);

        let resolved = resolve(&json!({}), &PodRequest::default(), true).unwrap();
        assert_eq!((resolved.mac.to_string(), resolved.reserved), (GENERATED.into(), ReservedAddresses::default()));
    }

    #[test]
    fn without_ipam_the_pods_addresses_are_used_and_need_a_prefix() {
        let resolved = resolve(&json!({}), &requesting(&["10.0.0.7/24", "fd00::7/64"], None), false).unwrap();
        assert_eq!(static_ips(&resolved), ["10.0.0.7/24", "fd00::7/64"]);
        assert!(!resolved.reserved.are_ips_static);
        let bare = requesting(&["10.0.0.7"], None);
        assert!(
            matches!(resolve(&json!({}), &bare, false), Err(PodRequestError::NoPrefix { text }) if text == "10.0.0.7")
        );
        assert!(resolve(&json!({}), &bare, true).is_ok());
        assert_eq!(static_ips(&resolve(&json!({"ips": ["10.0.0.5/24"]}), &bare, false).unwrap()), ["10.0.0.5/24"]);
    }
}
