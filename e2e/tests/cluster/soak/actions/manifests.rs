//! The objects that users apply in a soak run.

use crate::soak::steps::names;
use crate::soak::steps::{ByHand, Old, RequestedNetwork, engine, is_adopted};
use serde_json::{Value, json};
use usnet_crds::EngineKind;

/// A network of a person.
pub(crate) fn network(network: usize, requested: RequestedNetwork) -> Value {
    let RequestedNetwork { mtu, age, vlan, rate, fixed, zone, team, vhost_user } = requested;
    let engine = engine(network);
    let (vlan, rate) = (vlan.and_then(|(mode, tag)| self::vlan(engine, mode, tag)), rate.map(rate_limit));
    let mut spec = json!({
        "engine": if engine == EngineKind::Vpp { "VPP" } else { "OVS" },
        "bridge": bridge(network, mtu, age),
        "port": {},
        "namespaceSelector": team.map_or_else(|| json!({}), |team| json!({"matchLabels": {"team": team}})),
    });
    for (field, value) in [("vlan", vlan), ("rateLimit", rate)] {
        value.into_iter().for_each(|value| spec["port"][field] = value);
    }
    if engine == EngineKind::Vpp {
        spec["port"]["type"] = json!(if vhost_user { "VhostUser" } else { "Memif" });
    }
    if let Some(pod) = fixed {
        let (namespace, pod) = (names::namespace(0), format!("direct-{pod}"));
        let vlan = self::vlan(engine, "Access", Some(9));
        spec["attachments"] =
            json!([{"namespace": namespace, "pod": pod, "vlan": vlan, "rateLimit": rate_limit(5000)}]);
    }
    if let Some(zone) = zone {
        spec["nodeSelector"] = json!({"matchLabels": {"zone": zone}});
    }
    let (api, kind) = ("usnet.dev/v1alpha1", "UserspaceNetwork");
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": names::network(network)}, "spec": spec})
}

fn bridge(network: usize, mtu: i64, age: i64) -> Value {
    let name = names::bridge_of(network);
    let mut bridge = match engine(network) {
        EngineKind::OpenVswitch => json!({"name": name}),
        EngineKind::Vpp => json!({"id": name.parse::<i64>().unwrap()}),
    };
    bridge["mtu"] = json!(mtu);
    match is_adopted(network) {
        true => bridge["ownership"] = json!("Adopted"),
        false => bridge["macAgeSeconds"] = json!(age),
    }
    bridge
}

/// The VLAN of a port, if the engine has such.
fn vlan(engine: EngineKind, mode: &str, tag: Option<i64>) -> Option<Value> {
    let mut vlan = json!({"mode": mode});
    tag.into_iter().for_each(|tag| vlan["tag"] = json!(tag));
    if mode != "Access" {
        vlan["trunks"] = json!([11, 12]);
    }
    (mode == "Access" || engine == EngineKind::OpenVswitch).then_some(vlan)
}

fn rate_limit(kbps: i64) -> Value {
    json!({"ingressKbps": kbps, "egressKbps": 2 * kbps})
}

pub(crate) fn namespace(namespace: usize, team: Option<&str>) -> Value {
    let labels = team.map_or_else(|| json!({}), |team| json!({"team": team}));
    let metadata = json!({"name": names::namespace(namespace), "labels": labels});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

pub(crate) fn ghost(ghost: usize, zone: Option<&str>) -> Value {
    let labels = zone.map_or_else(|| json!({}), |zone| json!({"zone": zone}));
    let metadata = json!({"name": names::ghost(ghost), "labels": labels});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
}

/// A NAD that a user writes.
pub(crate) fn by_hand(definition: ByHand) -> Value {
    let config = match definition.is_for_us {
        true => naming(&names::network(definition.network)),
        false => json!({"cniVersion": "1.0.0", "type": "bridge", "bridge": "theirs"}),
    };
    self::definition(definition.namespace, &names::by_hand(definition), &config)
}

/// A definition of the legacy userspace CNI.
pub(crate) fn old(old: Old, is_other: bool) -> Value {
    definition(old.namespace, &names::old(old), &old_config(old.network, is_other))
}

fn definition(namespace: usize, name: &str, config: &Value) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": names::namespace(namespace)},
        "spec": {"config": config.to_string()},
    })
}

/// A configuration that names a network.
pub(crate) fn naming(network: &str) -> Value {
    json!({"cniVersion": "1.1.0", "name": network, "type": "userspace", "network": network})
}

/// A whole configuration of the legacy userspace CNI for a bridge. The other one asks for what the
/// usual one does not: with Open vSwitch a VLAN, with VPP ports of another type.
pub(crate) fn old_config(network: usize, is_other: bool) -> Value {
    let bridge = names::bridge_of(network);
    let (host, container) = match (engine(network), is_other) {
        (EngineKind::OpenVswitch, _) => {
            let vlan = if is_other { 7 } else { 0 };
            let bridge = json!({"bridgeName": bridge, "vlanId": vlan});
            let host =
                json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": bridge});
            (host, json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "server"}}))
        }
        (EngineKind::Vpp, true) => {
            let bridge = json!({"bridgeName": bridge});
            let host = json!({"engine": "vpp", "iftype": "vhostuser", "vhost": {"mode": "server"}, "bridge": bridge});
            (host, json!({"engine": "vpp", "iftype": "vhostuser", "vhost": {"mode": "client"}}))
        }
        (EngineKind::Vpp, false) => {
            let host = json!({"engine": "vpp", "IfType": "memif", "memif": {"role": "master"}, "bridge": {"bridgeName": bridge}});
            (host, json!({"engine": "vpp", "iftype": "memif", "memif": {"role": "slave"}}))
        }
    };
    json!({"cniVersion": "1.0.0", "type": "userspace", "name": "old", "host": host, "container": container})
}
