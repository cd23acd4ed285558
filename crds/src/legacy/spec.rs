//! The spec of a network that is generated from NADs. It sets every field, so that any change by a
//! user differs and is reverted.

use super::{Legacy, Settings};
use crate::engine::BridgeKey;
use crate::network::{BridgeSpec, Definitions, GatewaySpec, PortSpec, RateLimitSpec, TopologySpec, VlanMode, VlanSpec};
use crate::validate::{InvalidSpec, ValidNetwork, validate};
use crate::{
    BridgeDomainId, CompiledNetworkSpec, CompiledState, MemifMode, Namespaces, Phase, PortType, RateLimit,
    UserspaceNetwork, UserspaceNetworkSpec, VhostUser, Vlan,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use std::collections::BTreeSet;

/// The API server labels every namespace with its name.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The network that this configuration requests, for pods in these namespaces.
///
/// # Errors
/// When no valid network has these settings.
pub fn network_of(
    legacy: &Legacy,
    namespaces: &BTreeSet<String>,
) -> Result<(UserspaceNetwork, ValidNetwork), InvalidSpec> {
    let object = UserspaceNetwork::new(legacy.network_name().as_str(), spec(legacy, namespaces));
    validate(&object).map(|valid| (object, valid))
}

/// The network that this configuration requests on one node, for pods of all namespaces.
///
/// # Errors
/// When no valid network has these settings.
pub fn compiled_for_node(legacy: &Legacy) -> Result<CompiledNetworkSpec, InvalidSpec> {
    // No namespace is selected: the list of those that may attach is what counts.
    let (_, valid) = network_of(legacy, &BTreeSet::from([String::new()]))?;
    let namespaces = Namespaces::all();
    let state = CompiledState {
        generation: 1,
        created: None,
        phase: Phase::Active,
        overlay: None,
        namespaces,
        reserved: Vec::new(),
    };
    Ok(valid.compiled(state))
}

fn spec(legacy: &Legacy, namespaces: &BTreeSet<String>) -> UserspaceNetworkSpec {
    UserspaceNetworkSpec {
        engine: legacy.engine,
        namespace_selector: LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: NAMESPACE_NAME_LABEL.to_owned(),
                operator: "In".to_owned(),
                values: Some(namespaces.iter().cloned().collect()),
            }]),
            match_labels: None,
        },
        definitions: Definitions::PerNamespace,
        node_selector: None,
        bridge: bridge(legacy),
        topology: TopologySpec::default(),
        port: port(&legacy.settings),
        // Each NAD's own `ipam` is used, as the userspace CNI did.
        ipam: None,
        node_access: None,
        gateway: legacy.settings.gateway.as_ref().map(|gateway| GatewaySpec {
            addresses: gateway.addresses.iter().map(ToString::to_string).collect(),
            routing_domain: None,
        }),
        attachments: Vec::new(),
        reservations: None,
        device_plugin: None,
        resource_claims: None,
        policies: None,
    }
}

fn bridge(legacy: &Legacy) -> BridgeSpec {
    let usual = BridgeSpec::default();
    let mtu = Some(legacy.settings.mtu.unwrap_or_default().into());
    match legacy.engine.traits().bridge_key {
        BridgeKey::Name => BridgeSpec { name: Some(legacy.bridge.to_string()), mtu, ..usual },
        BridgeKey::Id => {
            let id = BridgeDomainId::try_from(&legacy.bridge).ok().map(i64::from);
            BridgeSpec { id, mtu, ..usual }
        }
    }
}

fn port(settings: &Settings) -> PortSpec {
    let port = settings.port();
    let is_vhost_user = port.port_type == PortType::VhostUser;
    PortSpec {
        port_type: Some(port.port_type),
        queues: port.queues.into(),
        ring_size: port.ring_size.into(),
        vlan: port.vlan.as_ref().map(vlan),
        rate_limit: rate_limit(port.rate_limit),
        volume: port.volume.map(String::from),
        memif: (port.memif.mode == MemifMode::Ip).then_some(port.memif),
        vhost_user: is_vhost_user.then_some(VhostUser { engine_role: port.vhost_user.engine_role }),
        veth: None,
        polling: port.polling,
        transmit_retries: port.transmit_retries.map(i64::from),
        anti_spoofing: None,
    }
}

fn vlan(vlan: &Vlan) -> VlanSpec {
    let mode = match vlan {
        Vlan::Access { .. } => VlanMode::Access,
        Vlan::Trunk { .. } => VlanMode::Trunk,
        Vlan::NativeTagged { .. } => VlanMode::NativeTagged,
        Vlan::NativeUntagged { .. } => VlanMode::NativeUntagged,
    };
    let trunks = vlan.trunks().into_iter().flatten();
    VlanSpec { mode, tag: vlan.tag().map(i64::from), trunks: trunks.map(|tag| i64::from(*tag)).collect() }
}

fn rate_limit(limit: RateLimit) -> RateLimitSpec {
    RateLimitSpec {
        ingress_kbps: limit.ingress_kbps.map_or(0, i64::from),
        egress_kbps: limit.egress_kbps.map_or(0, i64::from),
    }
}
