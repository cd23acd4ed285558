//! What users write of the bridge of a network, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::{Bridge, MacAge, MacLearning, MacTableSize, Ownership};
use crate::cel::{at, immutable_in_use, in_range, is, is_set, range, rule, with_engine};
use crate::engine::BridgeKey;
use crate::problem::{Problem, Problems};
use crate::types::bridge_domain::BridgeDomainId;
use crate::types::limits::Mtu;
use crate::types::names::{BRIDGE_NAME_MAX, BRIDGE_NAME_PATTERN, RESERVED_BRIDGE_NAMES, UPLINK_BRIDGE_PREFIX};
use crate::{BridgeName, EngineKind, InvalidName, NetworkName};
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};

/// The bridge of a network on each node: a bridge of Open vSwitch, or a bridge domain of VPP.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct BridgeSpec {
    /// With OVS: the name of the bridge; default br- and the network's name, shortened where
    /// that is longer than 15 characters. It cannot change while pods use the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = bridge_name(), validation = bridge_name_not_reserved())]
    pub name: Option<String>,
    /// With VPP: the id of the bridge domain, 1 to 16777215; default one from 8388608 on that
    /// follows from the network's name and is the same on every node. It cannot change while pods
    /// use the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = bridge_domain_id())]
    pub id: Option<i64>,
    /// The MTU of the bridge in bytes, and that of every port on it: 576 to 9702. Default 1500, and
    /// 1450 with an overlay, whose packets are 50 bytes longer than the frames in them; over IPv6
    /// 1430 and 70.
    // CRD defaults cannot depend on another field. So the field is left out, and readers derive the
    // default from the topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = mtu())]
    pub mtu: Option<i64>,
    /// Whether the bridge learns where MAC addresses are: Enabled, or Disabled, with which each
    /// frame is flooded to every port.
    #[serde(default)]
    pub mac_learning: MacLearning,
    /// How long the bridge keeps a MAC address after the last frame from it, in seconds. OVS:
    /// 15 to 3600. VPP: 60 to 15300 in whole minutes.
    #[serde(default = "default_mac_age_seconds")]
    pub mac_age_seconds: i64,
    /// How many MAC addresses the bridge remembers at most: 16 to 1000000. When that many are in
    /// use, Open vSwitch forgets one of the port that has most of them, and VPP learns no more
    /// until others age. Frames to an address that is not known are flooded.
    #[serde(default = "default_mac_table_size")]
    #[x_kube(validation = mac_table_size())]
    pub mac_table_size: i64,
    /// Managed: the bridge is created, kept as specified here, and deleted with the network.
    /// Adopted: it is not owned by usnet, and must be named (OVS: name, VPP: id); ports are
    /// added to it, of which `mtu` is the MTU, and nothing else of it is changed. It cannot
    /// change.
    #[serde(default)]
    pub ownership: Ownership,
}

fn default_mac_age_seconds() -> i64 {
    MacAge::default().into()
}

fn default_mac_table_size() -> i64 {
    MacTableSize::default().into()
}

impl Default for BridgeSpec {
    fn default() -> Self {
        Self {
            name: None,
            id: None,
            mtu: None,
            mac_learning: MacLearning::default(),
            mac_age_seconds: default_mac_age_seconds(),
            mac_table_size: default_mac_table_size(),
            ownership: Ownership::default(),
        }
    }
}

/// A rule of the whole object: ports of pods would stay on the bridge that the network had.
pub(crate) fn name_is_immutable_in_use() -> Rule {
    immutable_in_use("bridge.name")
}

/// The same rule for VPP.
pub(crate) fn id_is_immutable_in_use() -> Rule {
    immutable_in_use("bridge.id")
}

/// A rule of the spec: a bridge that usnet owns would be adopted, or the reverse.
pub(crate) fn ownership_is_immutable() -> Rule {
    let new = is_adopted();
    let message = "bridge.ownership cannot change: create a new network and move the pods to it";
    let same = format!("{new} == {}", new.replace("self", "oldSelf"));
    rule(same, message).field_path(".bridge.ownership")
}

/// An expression for rules of the spec.
pub(crate) fn is_adopted() -> String {
    is(".bridge.ownership", "Adopted")
}

fn bridge_name() -> Rule {
    rule(
        format!("size(self) <= {BRIDGE_NAME_MAX} && self.matches('{BRIDGE_NAME_PATTERN}')"),
        format!("use 1 to {BRIDGE_NAME_MAX} letters, digits, '_', '.' and '-', starting with a letter, a digit or '_'"),
    )
}

fn bridge_name_not_reserved() -> Rule {
    let names = RESERVED_BRIDGE_NAMES.map(|name| format!("'{name}'")).join(", ");
    rule(
        format!("!(self in [{names}] || self.startsWith('{UPLINK_BRIDGE_PREFIX}'))"),
        "the name is reserved by Open vSwitch, Linux or for uplinks: choose another",
    )
}

fn mtu() -> Rule {
    range("MTU", Mtu::MINIMUM, Mtu::MAXIMUM)
}

fn mac_table_size() -> Rule {
    range("size of the MAC table", MacTableSize::MINIMUM, MacTableSize::MAXIMUM)
}

fn bridge_domain_id() -> Rule {
    range("bridge domain id", BridgeDomainId::MINIMUM, BridgeDomainId::MAXIMUM)
}

/// Rules of the spec: each engine has one of the two fields, and ages of MAC addresses of its own.
pub(crate) fn engine_rules() -> impl Iterator<Item = Rule> {
    let foreign = BridgeKey::ALL.into_iter().flat_map(|key| {
        let without = EngineKind::ALL.into_iter().filter(move |engine| engine.traits().bridge_key != key);
        without.map(move |engine| {
            let (field, problem) = (format!("bridge.{}", key.field()), Problem::BridgeKey { engine, key });
            at(&format!(".{field}"), with_engine(engine, &format!("!{}", is_set(&format!(".{field}")))), &problem)
        })
    });
    let adopted = EngineKind::ALL.into_iter().map(|engine| {
        let field = format!("bridge.{}", engine.traits().bridge_key.field());
        let is_named = format!("!{} || {}", is_adopted(), is_set(&format!(".{field}")));
        at(&format!(".{field}"), with_engine(engine, &is_named), &Problem::AdoptedWithoutKey(engine))
    });
    let mac_age = |engine: EngineKind| in_range(".bridge.macAgeSeconds", engine, engine.traits().mac_age);
    foreign.chain(adopted).chain(EngineKind::ALL.map(mac_age))
}

/// The bridge of the network, whose own name may be wrong.
pub(crate) fn bridge(
    problems: &mut Problems,
    engine: EngineKind,
    spec: &BridgeSpec,
    default_mtu: Mtu,
    network: Option<&NetworkName>,
) -> Option<Bridge> {
    let name = name(problems, engine, spec, network);
    adopted(problems, engine, spec);
    let mtu = match spec.mtu {
        Some(mtu) => problems.check("spec.bridge.mtu", mtu.try_into()),
        None => Some(default_mtu),
    };
    let mac_ages = engine.traits().mac_age;
    let mac_age = problems.check_range("spec.bridge.macAgeSeconds", spec.mac_age_seconds, engine, mac_ages);
    let mac_table_size = problems.check("spec.bridge.macTableSize", spec.mac_table_size.try_into());
    Some(Bridge {
        name: name?,
        mtu: mtu?,
        mac_learning: spec.mac_learning,
        mac_age_seconds: mac_age?,
        mac_table_size: mac_table_size?,
        ownership: spec.ownership,
        is_guarded: false,
    })
}

/// Only users know which bridge is to be adopted.
fn adopted(problems: &mut Problems, engine: EngineKind, spec: &BridgeSpec) {
    let key = engine.traits().bridge_key;
    let is_missing = match key {
        BridgeKey::Name => spec.name.is_none(),
        BridgeKey::Id => spec.id.is_none(),
    };
    let is_wrong = is_missing && spec.ownership == Ownership::Adopted;
    problems.add_if(is_wrong, &format!("spec.bridge.{}", key.field()), Problem::AdoptedWithoutKey(engine));
}

fn name(
    problems: &mut Problems,
    engine: EngineKind,
    spec: &BridgeSpec,
    network: Option<&NetworkName>,
) -> Option<BridgeName> {
    match (engine.traits().bridge_key, &spec.name, spec.id) {
        (BridgeKey::Name, _, Some(_)) => {
            problems.add("spec.bridge.id", Problem::BridgeKey { engine, key: BridgeKey::Id });
            None
        }
        (BridgeKey::Id, Some(_), _) => {
            problems.add("spec.bridge.name", Problem::BridgeKey { engine, key: BridgeKey::Name });
            None
        }
        (BridgeKey::Name, Some(name), None) => {
            let checked = BridgeName::try_from(name.clone());
            let of_uplink = || InvalidName::BridgeOfUplink(name.clone());
            let is_of_uplink = name.starts_with(UPLINK_BRIDGE_PREFIX);
            problems
                .check("spec.bridge.name", checked.and_then(|it| if is_of_uplink { Err(of_uplink()) } else { Ok(it) }))
        }
        (BridgeKey::Id, None, Some(id)) => {
            problems.check("spec.bridge.id", BridgeDomainId::try_from(id)).map(BridgeName::from)
        }
        (_, None, None) => network.map(|network| engine.default_bridge(network)),
    }
}
