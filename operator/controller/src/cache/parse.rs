//! Parses watched objects for the cache, pure: each object is parsed once, on arrival, and only
//! what is used is kept.

use super::attachments::{Attachment, FoundPod, ObjectName, Pod};
use super::fingerprint;
use super::nads::{Nad, NadKey, UserNad};
use super::objects::{Compiled, Namespace, Network, Node, NodeSlice, NodeState, NodeStatus, Selection, Uplink};
use super::partial_objects::{
    AttachmentObject, CompiledObject, Config, NadObject, NamespaceObject, NetworkObject, NodeAddress, NodeCondition,
    NodeObject, NodeSliceObject, NodeStateObject, PodObject, ReservationObject, UplinkObject,
};
use super::reservations::Reservation;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use kube::core::Selector;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::net::IpAddr;
use usnet_common::display::OneLine;
use usnet_crds::attachment::node::{IPS_MAX_REPORTED, REPORTED_MAX};
use usnet_crds::attachment::{spec as attachment_spec, validate as attachment_rules};
use usnet_crds::conditions::{Status, engine_connected, find, reason};
use usnet_crds::legacy::{self, InvalidNadConfig, NadConfig};
use usnet_crds::nad::{self, FROM_NAD_LABEL, FROM_NAD_VALUE, NETWORK_LABEL, RESOURCE_ANNOTATION};
use usnet_crds::network::ipam::check_definition;
use usnet_crds::network::{FINALIZER, FORCE_DELETE};
use usnet_crds::node_selection::resource_version;
use usnet_crds::node_state::{
    AFFECTED_PODS_MAX, ATTACHMENTS_COUNT_MAX, AffectedPod, DEGRADED_MAX, DegradedAttachment, EngineEnd, MESSAGE_MAX,
    NetworkReport, PODS_MAX, REASON_MAX,
};
use usnet_crds::reservation::validate as reservation_rules;
use usnet_crds::uplink::report::{UPLINK_REPORTS_MAX, UplinkReport};
use usnet_crds::validate::validate;
use usnet_crds::{
    AttachmentReport, CompiledNetworkSpec, EngineKind, NetworkName, UserspaceAttachmentSpec, UserspaceNetwork,
    UserspaceNetworkSpec, UserspaceNodeSliceSpec, UserspaceNodeStateSpec, UserspaceNodeStateStatus,
    UserspaceReservationSpec, UserspaceUplink, UserspaceUplinkSpec,
};

/// Replaces an invalid reason of an agent: reasons are shown to users, and the token of an agent
/// can be stolen.
const UNKNOWN_REASON: &str = "Unknown";

pub fn network(object: &NetworkObject) -> (String, Network) {
    let metadata = &object.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let spec = match read::<UserspaceNetworkSpec>(object.spec.as_deref()) {
        Ok(spec) => {
            let network = UserspaceNetwork { metadata: name_only(&name), spec, status: None };
            validate(&network).map_err(|invalid| invalid.to_string())
        }
        Err(problem) => Err(format!("the object cannot be read: {problem}")),
    };
    (name, network_with_spec(metadata, spec, read(object.status.as_deref()).ok()))
}

/// A network with this spec, or with its validation error.
pub fn network_with_spec(
    metadata: &ObjectMeta,
    spec: Result<usnet_crds::validate::ValidNetwork, String>,
    status: Option<usnet_crds::UserspaceNetworkStatus>,
) -> Network {
    Network {
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        deleted: metadata.deletion_timestamp.clone(),
        has_from_nad_label: label(metadata, FROM_NAD_LABEL).as_deref() == Some(FROM_NAD_VALUE),
        finalizer: finalizer(metadata, FINALIZER),
        force_delete: annotation(metadata, FORCE_DELETE),
        spec,
        status,
    }
}

fn finalizer(metadata: &ObjectMeta, own: &str) -> Option<usize> {
    metadata.finalizers.iter().flatten().position(|finalizer| finalizer == own)
}

pub fn compiled(object: &CompiledObject) -> (String, Compiled) {
    let metadata = &object.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let owner = owner(metadata, &UserspaceNetwork::api_version(&()), &UserspaceNetwork::kind(&()), &name);
    let spec = read::<CompiledNetworkSpec>(object.spec.as_deref()).ok();
    let selection = spec.as_ref().and_then(|spec| {
        let nodes = spec.node_selector.clone().map(Selector::try_from).transpose().ok()?;
        let CompiledNetworkSpec { generation, phase, engine, .. } = *spec;
        let (overlay, uplink, gateway) = (spec.overlay.clone(), spec.uplink.clone(), spec.gateway.clone());
        Some(Selection { generation, phase, engine, nodes, overlay, uplink, gateway })
    });
    let compiled = Compiled {
        uid: metadata.uid.clone().unwrap_or_default(),
        version: resource_version(metadata.resource_version.as_deref()),
        owner,
        fingerprint: spec.as_ref().filter(|_| selection.is_some()).map(fingerprint::of_compiled),
        selection,
        attachments: spec.map(|spec| spec.attachments).unwrap_or_default(),
    };
    (name, compiled)
}

pub fn uplink(object: &UplinkObject) -> (String, Uplink) {
    let metadata = &object.metadata;
    let spec = read::<UserspaceUplinkSpec>(object.spec.as_deref());
    let spec = spec.map_err(|problem| format!("the object cannot be read: {problem}")).and_then(|spec| {
        let uplink = UserspaceUplink { metadata: metadata.clone(), spec, status: None };
        usnet_crds::uplink::validate::validate(&uplink).map_err(|invalid| invalid.to_string())
    });
    let uplink = Uplink {
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        deleted: metadata.deletion_timestamp.clone(),
        finalizer: finalizer(metadata, FINALIZER),
        spec,
        status: read(object.status.as_deref()).ok(),
    };
    (metadata.name.clone().unwrap_or_default(), uplink)
}

pub fn namespace(object: &NamespaceObject) -> (String, Namespace) {
    let metadata = &object.metadata;
    let is_deleting = metadata.deletion_timestamp.is_some();
    let labels = metadata.labels.clone().unwrap_or_default();
    (metadata.name.clone().unwrap_or_default(), Namespace { labels, is_deleting })
}

pub fn node(object: &NodeObject) -> (String, Node) {
    let metadata = &object.metadata;
    let is_true = |condition: &NodeCondition| condition.kind == "Ready" && condition.status == "True";
    let node = Node {
        uid: metadata.uid.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        labels: metadata.labels.clone().unwrap_or_default(),
        is_ready: object.status.conditions.iter().flatten().any(is_true),
        addresses: object.status.addresses.iter().flatten().filter_map(internal_ip).collect(),
    };
    (metadata.name.clone().unwrap_or_default(), node)
}

/// Kubelet and cloud providers write addresses; invalid ones are ignored.
fn internal_ip(address: &NodeAddress) -> Option<IpAddr> {
    address.address.parse().ok().filter(|_| address.kind == "InternalIP")
}

pub(crate) fn node_slice(object: &NodeSliceObject) -> (String, NodeSlice) {
    let metadata = &object.metadata;
    let spec = read::<UserspaceNodeSliceSpec>(object.spec.as_deref()).ok();
    let slice = NodeSlice {
        uid: metadata.uid.clone().unwrap_or_default(),
        fingerprint: spec.as_ref().map(fingerprint::of_slice),
    };
    (metadata.name.clone().unwrap_or_default(), slice)
}

pub fn node_state(object: &NodeStateObject) -> (String, NodeState) {
    let metadata = &object.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let spec = read::<UserspaceNodeStateSpec>(object.spec.as_deref()).ok();
    let state = NodeState {
        uid: metadata.uid.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        owner: owner(metadata, "v1", "Node", &name),
        generation: metadata.generation.unwrap_or_default(),
        selected_generation: metadata.generation.unwrap_or_default(),
        number: spec.as_ref().map(|spec| spec.number),
        attachments: spec.as_ref().map(|spec| spec.attachments.clone()).unwrap_or_default(),
        unrequested: BTreeMap::new(),
        labels: spec.map(|spec| spec.labels).unwrap_or_default(),
        status: read::<UserspaceNodeStateStatus>(object.status.as_deref()).ok().map(node_status),
    };
    (name, state)
}

/// Parses the report of an agent and enforces limits: the token of an agent can be stolen, and an
/// older CRD may have no limits.
pub(crate) fn node_status(status: UserspaceNodeStateStatus) -> NodeStatus {
    let mut parsed = NodeStatus {
        observed_generation: status.observed_generation,
        through: resource_version(status.programmed_through.as_deref()),
        ..NodeStatus::default()
    };
    for engine in EngineKind::ALL {
        let Some(connected) = find(&status.conditions, engine_connected(engine)) else { continue };
        if connected.reason == reason::NEVER_SEEN {
            parsed.missing.insert(engine);
        }
        if connected.status == Status::False.as_str() {
            parsed.down.insert(engine, one_line(&connected.message));
        }
    }
    let reports = status.networks.into_iter().map(report).map(|report| (report.name.clone(), report));
    parsed.reports = reports.collect();
    let ends = status.engine_ends.into_iter().take(EngineKind::ALL.len());
    parsed.engine_ends = ends.map(|end| EngineEnd { message: one_line(&end.message), ..end }).collect();
    parsed.affected_pods = status.affected_pods.iter().take(AFFECTED_PODS_MAX).map(affected_pod).collect();
    let uplinks = status.uplinks.into_iter().take(UPLINK_REPORTS_MAX).map(uplink_report);
    parsed.uplinks = uplinks.map(|report| (report.name.clone(), report)).collect();
    let attachments = status.attachments.into_iter().take(REPORTED_MAX).map(attachment_report);
    parsed.attachments = attachments.map(|report| (report.uid.clone(), report)).collect();
    parsed
}

fn report(report: NetworkReport) -> NetworkReport {
    let count = |number: i64| number.clamp(0, ATTACHMENTS_COUNT_MAX);
    NetworkReport {
        reason: valid_reason(&report.reason),
        message: one_line(&report.message),
        attachments: count(report.attachments),
        connected: count(report.connected),
        pods: report.pods.iter().take(PODS_MAX).map(|pod| one_line(pod)).collect(),
        degraded: report.degraded.iter().take(DEGRADED_MAX).map(degraded).collect(),
        ..report
    }
}

pub(crate) fn attachment(object: &AttachmentObject) -> (ObjectName, Attachment) {
    let metadata = &object.metadata;
    let spec = read::<UserspaceAttachmentSpec>(object.spec.as_deref());
    let spec = spec.map_err(|problem| format!("the object cannot be read: {problem}"));
    let spec = spec.and_then(|spec| attachment_rules::validate(&spec).map_err(|invalid| invalid.to_string()));
    let pod = spec.as_ref().map(|valid| valid.pod.to_string()).unwrap_or_default();
    let attachment = Attachment {
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        deleted: metadata.deletion_timestamp.clone(),
        finalizer: finalizer(metadata, attachment_spec::FINALIZER),
        owner: owner(metadata, "v1", "Pod", &pod),
        spec,
        status: read(object.status.as_deref()).ok(),
    };
    let name = metadata.name.clone().unwrap_or_default();
    (ObjectName { namespace: metadata.namespace.clone().unwrap_or_default(), name }, attachment)
}

pub fn reservation(object: &ReservationObject) -> (ObjectName, Reservation) {
    let metadata = &object.metadata;
    let spec = read::<UserspaceReservationSpec>(object.spec.as_deref());
    let spec = spec.map_err(|problem| format!("the object cannot be read: {problem}"));
    let reservation = Reservation {
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        is_deleting: metadata.deletion_timestamp.is_some(),
        spec: spec.and_then(|spec| reservation_rules::validate(&spec).map_err(|invalid| invalid.to_string())),
        status: read(object.status.as_deref()).ok(),
    };
    let name = metadata.name.clone().unwrap_or_default();
    (ObjectName { namespace: metadata.namespace.clone().unwrap_or_default(), name }, reservation)
}

pub(crate) fn pod(object: &PodObject) -> FoundPod {
    let (metadata, spec) = (&object.metadata, &object.spec);
    let phase = object.status.phase.as_deref().unwrap_or_default();
    FoundPod::Present(Pod {
        uid: metadata.uid.clone().unwrap_or_default(),
        node: spec.node_name.clone().filter(|node| !node.is_empty()),
        has_ended: metadata.deletion_timestamp.is_some() || ["Succeeded", "Failed"].contains(&phase),
        has_host_network: spec.host_network,
    })
}

fn attachment_report(report: AttachmentReport) -> AttachmentReport {
    AttachmentReport {
        reason: valid_reason(&report.reason),
        message: one_line(&report.message),
        ips: report.ips.iter().take(IPS_MAX_REPORTED).map(|ip| one_line(ip)).collect(),
        socket: one_line(&report.socket),
        ..report
    }
}

fn uplink_report(report: UplinkReport) -> UplinkReport {
    let reason = if report.reason.is_empty() { String::new() } else { valid_reason(&report.reason) };
    let (message, nic) = (one_line(&report.message), one_line(&report.nic));
    UplinkReport { reason, message, nic, active_member: one_line(&report.active_member), ..report }
}

fn degraded(entry: &DegradedAttachment) -> DegradedAttachment {
    DegradedAttachment {
        pod: one_line(&entry.pod),
        uid: one_line(&entry.uid),
        interface: one_line(&entry.interface),
        reason: valid_reason(&entry.reason),
        message: one_line(&entry.message),
    }
}

fn affected_pod(entry: &AffectedPod) -> AffectedPod {
    AffectedPod {
        pod: one_line(&entry.pod),
        uid: one_line(&entry.uid),
        network: one_line(&entry.network),
        engine: entry.engine,
        reason: valid_reason(&entry.reason),
    }
}

fn valid_reason(reason: &str) -> String {
    let is_valid = (1..=REASON_MAX).contains(&reason.len())
        && reason.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && reason.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_valid { reason.to_owned() } else { UNKNOWN_REASON.to_owned() }
}

fn one_line(text: &str) -> String {
    OneLine(text).to_string().chars().take(MESSAGE_MAX).collect()
}

pub fn nad(object: &NadObject) -> (NadKey, Nad) {
    let metadata = &object.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let (label, resource) = (label(metadata, NETWORK_LABEL), annotation(metadata, RESOURCE_ANNOTATION));
    let owner = owner(metadata, &UserspaceNetwork::api_version(&()), &UserspaceNetwork::kind(&()), &name);
    let nad = match &object.spec.config {
        Config::Text(config) if owner.is_some() || is_generated_without_owner(&name, label.as_deref(), config) => {
            let found = fingerprint::of_nad(config, owner.as_deref(), label.as_deref(), resource.as_deref());
            Nad::Generated(found)
        }
        Config::TooLong(_) if owner.is_some() => Nad::Generated(0),
        Config::Text(config) => {
            user_nad(metadata, legacy::parse_nad_config(config).transpose(), legacy::nad_ipam(config).as_ref())
        }
        Config::TooLong(length) => user_nad(metadata, Some(Err(InvalidNadConfig::TooLong(*length))), None),
    };
    (NadKey { namespace, name }, nad)
}

fn user_nad(metadata: &ObjectMeta, config: Option<Result<NadConfig, InvalidNadConfig>>, ipam: Option<&Value>) -> Nad {
    let Some(mut config) = config else { return Nad::Other };
    // Only the plugin uses the IPAM configuration, and reads it from the NAD.
    if let Ok(NadConfig::Legacy(legacy)) = &mut config {
        legacy.ipam = None;
    }
    let (uid, created) = (metadata.uid.clone().unwrap_or_default(), metadata.creation_timestamp.clone());
    // Only the problem of the configuration is kept.
    let ipam_problem = ipam.and_then(|ipam| check_definition(ipam).err()).map(|problem| one_line(&problem.to_string()));
    Nad::User(Box::new(UserNad { uid, created, config, has_ipam: ipam.is_some(), ipam_problem }))
}

/// Whether the NAD lost its owner reference, but is exactly what the controller generates: then it
/// is adopted again.
fn is_generated_without_owner(name: &str, label: Option<&str>, config: &str) -> bool {
    label == Some(name) && name.parse::<NetworkName>().is_ok_and(|name| nad::config(&name) == config)
}

fn read<T: DeserializeOwned>(text: Option<&RawValue>) -> Result<T, serde_json::Error> {
    serde_json::from_str(text.map_or("null", RawValue::get))
}

fn name_only(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn label(metadata: &ObjectMeta, name: &str) -> Option<String> {
    metadata.labels.as_ref()?.get(name).cloned()
}

fn annotation(metadata: &ObjectMeta, name: &str) -> Option<String> {
    metadata.annotations.as_ref()?.get(name).cloned()
}

/// The uid of the owner of this kind and name.
fn owner(metadata: &ObjectMeta, api_version: &str, kind: &str, name: &str) -> Option<String> {
    let is_it = |owner: &&OwnerReference| owner.api_version == api_version && owner.kind == kind && owner.name == name;
    metadata.owner_references.iter().flatten().find(is_it).map(|owner| owner.uid.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn reports_of_agents_are_limited() {
        let reports = json!([
            {"name": "a", "generation": 1, "state": "Failed", "reason": "", "message": "one\ntwo"},
            {"name": "b", "generation": 1, "state": "Failed", "reason": "x".repeat(300_000), "message": "y".repeat(300_000)},
            {"name": "c", "generation": 1, "state": "Programmed", "attachments": -5, "connected": 4_611_686_018_427_387_904_i64},
        ]);
        let status = json!({"programmedThrough": "12", "networks": reports, "conditions": [
            {"type": "VPPConnected", "status": "False", "reason": "NeverSeen", "message": "no socket", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]});
        let parsed = node_status(serde_json::from_value(status).unwrap());
        assert_eq!((parsed.through, &parsed.missing), (12, &BTreeSet::from([EngineKind::Vpp])));
        assert_eq!(parsed.down[&EngineKind::Vpp], "no socket");
        let reports: BTreeMap<String, NetworkReport> = parsed.reports;
        assert_eq!((reports["a"].reason.as_str(), reports["a"].message.contains('\n')), ("Unknown", false));
        assert_eq!((reports["b"].reason.as_str(), reports["b"].message.len()), ("Unknown", MESSAGE_MAX));
        assert_eq!((reports["c"].attachments, reports["c"].connected), (0, ATTACHMENTS_COUNT_MAX));
    }
}
