//! What `config/samples` shows is accepted, and works as it stands.

use crate::support::rejected;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use usnet_crds::multi_network_policy::read::read;
use usnet_crds::validate::{ValidNetwork, validate};
use usnet_crds::{
    EngineKind, MemifMode, MemifSocketKind, MultiNetworkPolicy, Ownership, PortType, RateLimit, SocketRole,
    UserspaceAttachment, UserspaceEngine, UserspaceNetwork, UserspaceReservation, Vlan,
};

struct Sample {
    file: String,
    object: Value,
}

const KINDS: [&str; 7] = [
    "UserspaceNetwork",
    "UserspaceUplink",
    "UserspaceAttachment",
    "UserspaceReservation",
    "UserspaceEngine",
    "MultiNetworkPolicy",
    "Pod",
];

/// The objects of this kind in all files.
fn samples(kind: &str) -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/samples");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (file, text) = (path.file_name().unwrap().display().to_string(), std::fs::read_to_string(&path).unwrap());
        for document in serde_yaml::Deserializer::from_str(&text) {
            let object = Value::deserialize(document).unwrap();
            assert!(KINDS.contains(&object["kind"].as_str().unwrap()), "{file}: {object}");
            found.push(Sample { file: file.clone(), object });
        }
    }
    found.retain(|sample| sample.object["kind"] == kind);
    assert!(!found.is_empty(), "no samples of {kind}");
    found
}

fn networks() -> BTreeMap<String, ValidNetwork> {
    let network = |sample: Sample| validate(&serde_json::from_value(sample.object).unwrap()).unwrap();
    samples("UserspaceNetwork").into_iter().map(network).map(|network| (network.name.to_string(), network)).collect()
}

/// The object as it is read, with defaults.
fn with_defaults<K: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<K>(object.clone())?)
}

/// Whether all of `sample` is still in `read`: unknown fields would be dropped.
fn is_kept(sample: &Value, read: &Value) -> bool {
    match (sample, read) {
        (Value::Object(sample), Value::Object(read)) => {
            sample.iter().all(|(key, value)| read.get(key).is_some_and(|read| is_kept(value, read)))
        }
        (Value::Array(sample), Value::Array(read)) => {
            sample.len() == read.len() && sample.iter().zip(read).all(|(sample, read)| is_kept(sample, read))
        }
        (sample, read) => sample == read,
    }
}

#[test]
fn every_network_is_accepted_by_cel_and_rust_and_has_no_unknown_field() {
    for Sample { file, object } in samples("UserspaceNetwork") {
        assert_eq!(rejected(&object, None), Vec::<String>::new(), "{file}");
        let valid = validate(&serde_json::from_value(object.clone()).unwrap());
        assert!(valid.is_ok(), "{file}: {valid:?}");
        assert!(is_kept(&object, &with_defaults::<UserspaceNetwork>(&object).unwrap()), "{file}");
    }
}

#[test]
fn every_attachment_is_accepted_by_cel_and_rust_for_a_pod_and_a_network_of_the_samples() {
    let pods: BTreeSet<String> =
        samples("Pod").iter().map(|pod| pod.object["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    for Sample { file, object } in samples("UserspaceAttachment") {
        assert_eq!(rejected(&object, None), Vec::<String>::new(), "{file}");
        let found: UserspaceAttachment = serde_json::from_value(object.clone()).unwrap();
        let valid = usnet_crds::attachment::validate::validate(&found.spec).unwrap();
        assert!(pods.contains(valid.pod.as_str()) && networks().contains_key(valid.network.as_str()), "{file}");
        assert!(is_kept(&object, &with_defaults::<UserspaceAttachment>(&object).unwrap()), "{file}");
    }
}

#[test]
fn every_engine_is_valid() {
    for Sample { file, object } in samples("UserspaceEngine") {
        assert_eq!(rejected(&object, None), Vec::<String>::new(), "{file}");
        let found: UserspaceEngine = serde_json::from_value(object.clone()).unwrap();
        let name = found.metadata.name.as_deref().unwrap();
        assert!(usnet_crds::userspace_engine::validate::validate(name, &found.spec).is_ok(), "{file}");
        assert!(is_kept(&object, &with_defaults::<UserspaceEngine>(&object).unwrap()), "{file}");
    }
}

#[test]
fn every_reservation_is_what_its_network_allows() {
    for Sample { file, object } in samples("UserspaceReservation") {
        assert_eq!(rejected(&object, None), Vec::<String>::new(), "{file}");
        let found: UserspaceReservation = serde_json::from_value(object.clone()).unwrap();
        let valid = usnet_crds::reservation::validate::validate(&found.spec).unwrap();
        let network = networks().remove(valid.network.as_str()).unwrap();
        let fixed = network.reservations.unwrap().fixed("any", &valid);
        assert!(fixed.is_ok(), "{file}: {fixed:?}");
        assert!(is_kept(&object, &with_defaults::<UserspaceReservation>(&object).unwrap()), "{file}");
    }
}

#[test]
fn every_policy_is_enforced_as_a_whole_on_a_network_that_has_policies() {
    for Sample { file, mut object } in samples("MultiNetworkPolicy") {
        assert!(is_kept(&object, &with_defaults::<MultiNetworkPolicy>(&object).unwrap()), "{file}");
        // As `kubectl apply -n db` does.
        object["metadata"]["namespace"] = "db".into();
        let read = read(&serde_json::from_value(object).unwrap());
        assert!(read.problems.is_empty() && read.policy.is_some(), "{file}: {read:?}");
        for definition in read.definitions {
            assert!(networks()[&definition.name].policies.are_enabled(), "{file}");
        }
    }
}

#[test]
fn samples_cover_each_port_type() {
    let observed: BTreeSet<_> = networks()
        .into_values()
        .map(|network| (network.engine, network.port.port_type, network.port.memif.socket))
        .collect();
    let expected = [
        (EngineKind::OpenVswitch, PortType::VhostUser, MemifSocketKind::Volume),
        (EngineKind::OpenVswitch, PortType::Veth, MemifSocketKind::Volume),
        (EngineKind::Vpp, PortType::VhostUser, MemifSocketKind::Volume),
        (EngineKind::Vpp, PortType::Veth, MemifSocketKind::Volume),
        (EngineKind::Vpp, PortType::Memif, MemifSocketKind::Volume),
        (EngineKind::Vpp, PortType::Memif, MemifSocketKind::Abstract),
    ];
    assert_eq!(observed, expected.into());
    let has = |is_it: fn(&ValidNetwork) -> bool| networks().values().any(is_it);
    assert!(has(|network| network.port.memif.mode == MemifMode::Ip), "memif in IP mode");
    assert!(has(|network| network.port.vhost_user.engine_role == SocketRole::Server), "the engine listens");
}

#[test]
fn samples_cover_each_feature_that_needs_explanation() {
    let networks: Vec<_> = networks().into_values().collect();
    assert!(networks.iter().any(|network| network.bridge.ownership == Ownership::Adopted), "adopted");
    assert!(networks.iter().any(|network| matches!(network.port.vlan, Some(Vlan::NativeUntagged { .. }))), "trunk");
    let is_limited = |rate: RateLimit| rate.ingress_kbps.is_some() && rate.egress_kbps.is_some();
    assert!(networks.iter().any(|network| is_limited(network.port.rate_limit)), "limits");
    let fixed: Vec<_> = networks.iter().flat_map(|network| &network.attachments).collect();
    assert!(fixed.iter().any(|one| one.mac.is_some() && one.vlan.is_some() && !one.ips.is_empty()), "fixed");
}

#[test]
fn every_pod_joins_a_network_of_the_samples_and_finds_its_socket() {
    let networks = networks();
    for Sample { file, object } in samples("Pod") {
        let network = object["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str().unwrap();
        let port = &networks.get(network).unwrap_or_else(|| panic!("{file}: no network {network}")).port;
        let container = &object["spec"]["containers"][0];
        let is_abstract = (port.port_type, port.memif.socket) == (PortType::Memif, MemifSocketKind::Abstract);
        let by_device = networks[network].device_plugin.is_some();
        let needs_no_volume = is_abstract || by_device || port.port_type == PortType::Veth;
        let mounts = container["volumeMounts"].as_array().into_iter().flatten();
        let mounted: Vec<&str> = mounts.filter_map(|mount| mount["name"].as_str()).collect();
        assert_eq!(mounted, if needs_no_volume { vec![] } else { vec!["usnet"] }, "{file}");
        if by_device {
            let resource = container["resources"]["limits"][format!("usnet.dev/{network}")].as_i64();
            assert_eq!(resource, Some(1), "{file}");
            continue;
        }
        // The program finds sockets in the volume by itself; an abstract socket has to be named.
        let arguments: Vec<&str> =
            container["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!(arguments, if is_abstract { vec!["--memif=net1"] } else { vec![] }, "{file}");
        let image = format!("usnet-tools:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(container["image"], *image, "{file}");
    }
}
