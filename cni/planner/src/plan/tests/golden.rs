//! Plans as texts, to be read in a review: what is desired, what is observed, and the plan with the
//! cause of each operation. `USNET_UPDATE_GOLDEN=1 cargo test -p usnet-dataplane golden` rewrites
//! them.

use super::model::Model;
use crate::model::attachment::{Progress, Record};
use crate::model::bridge_settings::BridgeMtu;
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedPort};
use crate::model::owner::{NicIdentity, Owner};
use crate::model::port::{PortName, PortPolicy};
use crate::model::tagging::Tagging;
use crate::model::uplink::UplinkBridge;
use crate::plan::{PlanContext, SpecOrigin, blockers, diff, plan, uplink_blockers};
use crate::testing::{attachment, network, record};
use std::fmt::Write;
use std::path::Path;
use usnet_crds::{EngineKind, Mtu, NodeNetwork, Ownership, Vlan, VlanTag};

pub(super) struct Scenario {
    pub(super) about: &'static str,
    pub(super) desired: Desired,
    pub(super) observed: Observed,
    pub(super) context: PlanContext,
}

/// The engine as this desired state leaves it.
pub(super) fn programmed(kind: EngineKind, desired: &Desired) -> Observed {
    let mut engine = Model::empty(kind);
    engine.apply_all(&diff(desired, &engine.observed)).unwrap();
    engine.observed
}

fn blue_with_pod() -> Desired {
    Desired::new([network("blue")], &[record("c1", &network("blue"))])
}

/// The spec is that of the last reconcile, which programmed network blue.
pub(super) fn known() -> PlanContext {
    let programmed = ["blue".parse().unwrap()].into();
    let attached = [attachment("c1")].into();
    PlanContext { spec: SpecOrigin::Known, programmed, attached, ..PlanContext::default() }
}

fn port_of<'a>(observed: &'a mut Observed, container: &str) -> &'a mut ObservedPort {
    let ports = &mut observed.bridges.get_mut("br-blue").unwrap().ports;
    ports.get_mut(&PortName::of(&attachment(container))).unwrap()
}

fn adopting(mut spec: NodeNetwork, bridge: &str) -> NodeNetwork {
    (spec.bridge.name, spec.bridge.ownership) = (bridge.parse().unwrap(), Ownership::Adopted);
    spec
}

/// A bridge `name` that usnet does not own.
fn foreign(name: &str) -> Observed {
    let mut other = network("other");
    other.bridge.name = name.parse().unwrap();
    let mut observed = programmed(EngineKind::OpenVswitch, &Desired::new([other], []));
    observed.bridges.get_mut(name).unwrap().owner = None;
    observed
}

fn text(scenario: &Scenario) -> String {
    let Scenario { about, desired, observed, context } = scenario;
    let mut text = format!("# {about}\n");
    let mut section = |title: &str, lines: Vec<String>| {
        let lines = if lines.is_empty() { vec!["nothing".to_owned()] } else { lines };
        writeln!(text, "\n{title}:\n  {}", lines.join("\n  ")).unwrap();
    };
    section("desired", desired_lines(desired));
    section("observed", observed_lines(observed));
    section("plan", plan(desired, observed, context).iter().map(ToString::to_string).collect());
    let blocked = blockers(desired, observed);
    let uplinks = uplink_blockers(desired, observed);
    let uplinks = uplinks.iter().map(|(uplink, blocker)| format!("{uplink}: {blocker:?}"));
    let blocked = blocked.iter().map(|(network, blocker)| format!("{network}: {blocker}"));
    section("blocked", blocked.chain(uplinks).collect());
    text
}

fn desired_lines(desired: &Desired) -> Vec<String> {
    let networks = desired.networks.values().map(|network| {
        let bridge = &network.bridge;
        let policies = if network.policies.are_enabled() { ", policies" } else { "" };
        let (name, ownership) = (&network.name, bridge.ownership);
        format!("network {name} with {ownership:?} bridge {}, MTU {}{policies}", bridge.name, bridge.mtu)
    });
    let attachments = desired.attachments().map(|(id, port)| {
        let being_added = if port.policy == PortPolicy::Keep { ", while its ADD is in progress" } else { "" };
        format!("port {} of {id} on bridge {}{being_added}", port.name, port.bridge_name().unwrap())
    });
    let uplinks = desired.uplinks.values().map(|uplink| {
        let nic = uplink.nic.as_ref().map_or("any".to_owned(), |nic| match &nic.identity {
            NicIdentity::KernelIndex(index) => format!("{} with index {index}", nic.name),
            NicIdentity::PciAddress(address) => format!("{} at {address}", nic.name),
            NicIdentity::Bond(_) => format!("{}, {}", nic.name, nic.backend),
        });
        match &uplink.bridge {
            Some(UplinkBridge { name, tagging }) => {
                format!("uplink {} with bridge {name}, NIC {nic}, {}", uplink.name, tagging.of_nic_text())
            }
            None => format!("uplink {} with NIC {nic}", uplink.name),
        }
    });
    let patches = desired.ports.values().filter_map(|port| match &port.owner.owner {
        Owner::Patch(patch) => {
            let vlan = match port.uplink_tagging().unwrap() {
                Tagging::Vlan(vlan) => vlan.to_string(),
                _ => "no VLAN".to_owned(),
            };
            Some(format!("network {} on uplink {} in {vlan}, {:?}", patch.network, patch.uplink, port.policy))
        }
        _ => None,
    });
    let detached = desired.detached.keys().map(|id| format!("no port of {id}, which is detached"));
    networks.chain(uplinks).chain(patches).chain(attachments).chain(detached).collect()
}

fn observed_lines(observed: &Observed) -> Vec<String> {
    let port = |(name, port): (&PortName, &ObservedPort), place: &str| {
        let owner = port.owner.as_ref().map_or("others".to_owned(), |owner| owner.owner.to_string());
        let mtu = port.settings.mtu.map_or("none".to_owned(), |mtu| mtu.to_string());
        format!("port {name} of {owner} {place}, MTU {mtu}, {:?}", port.settings.tagging)
    };
    let bridges = observed.bridges.iter().flat_map(|(name, bridge)| {
        let owner = bridge.owner.as_ref().map_or("others".to_owned(), ToString::to_string);
        let ports = bridge.ports.iter().map(move |entry| port(entry, &format!("on bridge {name}")));
        let zone = bridge.settings.policy_zone.map_or_else(String::new, |zone| format!(", policies in zone {zone}"));
        [format!("bridge {name} of {owner}, MTU {:?}{zone}", bridge.settings.mtu)].into_iter().chain(ports)
    });
    bridges.chain(observed.unbridged_ports.iter().map(|entry| port(entry, "on no bridge"))).collect()
}

pub(super) fn check(name: &str, scenario: &Scenario) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/plans/{name}.txt"));
    let now = text(scenario);
    if std::env::var_os("USNET_UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let golden = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert_eq!(now, golden, "{}", file.display());
}

#[test]
fn new_network() {
    let about = "A new network, and a pod that was attached while the agent was away.";
    let (observed, context) = (Observed::default(), PlanContext::default());
    check("new_network", &Scenario { about, desired: blue_with_pod(), observed, context });
}

#[test]
fn changed_mtu() {
    let about = "The MTU of a network with a pod changes: in place, on the bridge and on the port.";
    let observed = programmed(EngineKind::OpenVswitch, &blue_with_pod());
    let mut blue = network("blue");
    blue.bridge.mtu = Mtu::try_from(9000).unwrap();
    let desired = Desired::new([blue.clone()], &[record("c1", &blue)]);
    check("changed_mtu", &Scenario { about, desired, observed, context: PlanContext::default() });
}

#[test]
fn changed_vlan() {
    let about = "The VLAN of a network changes: on its ports alone.";
    let observed = programmed(EngineKind::OpenVswitch, &blue_with_pod());
    let mut blue = network("blue");
    blue.port.vlan = Some(Vlan::Access { tag: VlanTag::try_from(7).unwrap() });
    let desired = Desired::new([blue.clone()], &[record("c1", &blue)]);
    check("changed_vlan", &Scenario { about, desired, observed, context: PlanContext::default() });
}

#[test]
fn engine_restart() {
    let about = "VPP was restarted and is empty. The pod whose ADD is in progress is left to the plugin.";
    let records =
        [record("c1", &network("blue")), Record { progress: Progress::Attaching, ..record("c2", &network("blue")) }];
    let desired = Desired::new([network("blue"), network("red")], &records);
    let context = PlanContext { restarted: Some(3), ..known() };
    check("engine_restart", &Scenario { about, desired, observed: Observed::default(), context });
}

#[test]
fn drift() {
    let about = "Others changed the MTU of a port and of its bridge.";
    let mut observed = programmed(EngineKind::OpenVswitch, &blue_with_pod());
    port_of(&mut observed, "c1").settings.mtu = Some(1400);
    observed.bridges.get_mut("br-blue").unwrap().settings.mtu = BridgeMtu::Set(1400);
    check("drift", &Scenario { about, desired: blue_with_pod(), observed, context: known() });
}

#[test]
fn attached_since() {
    let about = "ADD completed between the observation of the engine and the reading of the journal: that is no drift.";
    let records = ["c1", "c2"].map(|container| record(container, &network("blue")));
    let desired = Desired::new([network("blue")], &records);
    let observed = programmed(EngineKind::OpenVswitch, &blue_with_pod());
    check("attached_since", &Scenario { about, desired, observed, context: known() });
}

#[test]
fn deletion_with_pods() {
    let about = "A deleted network: the port of a detached pod is removed; bridge and port stay for the other pod.";
    let records =
        [record("c1", &network("blue")), Record { progress: Progress::Detached, ..record("c2", &network("blue")) }];
    let before = [record("c1", &network("blue")), record("c2", &network("blue"))];
    let observed = programmed(EngineKind::OpenVswitch, &Desired::new([network("blue")], &before));
    let (desired, context) = (Desired::new([], &records), PlanContext::default());
    check("deletion_with_pods", &Scenario { about, desired, observed, context });
}

#[test]
fn foreign_bridge() {
    let about = "A bridge of the network's name that usnet does not own: nothing is done.";
    let (observed, context) = (foreign("br-blue"), PlanContext::default());
    check("foreign_bridge", &Scenario { about, desired: blue_with_pod(), observed, context });
}

#[test]
fn adopted_bridge() {
    let about = "A network that adopts a bridge gets ports on it; the bridge, with another MTU, is not changed.";
    let blue = adopting(network("blue"), "br0");
    let mut observed = foreign("br0");
    observed.bridges.get_mut("br0").unwrap().settings.mtu = BridgeMtu::Set(9000);
    let desired = Desired::new([blue.clone()], &[record("c1", &blue)]);
    check("adopted_bridge", &Scenario { about, desired, observed, context: PlanContext::default() });
}

#[test]
fn incomplete_port() {
    let about =
        "An ADD ended before its port was tagged and bridged, and its pod is detached: only that port is removed.";
    let mut observed = programmed(EngineKind::Vpp, &blue_with_pod());
    let name = PortName::of(&attachment("c1"));
    let mut port = observed.bridges.get_mut("br-blue").unwrap().ports.remove(&name).unwrap();
    port.owner = None;
    observed.unbridged_ports.insert(PortName::observed("memif7/0"), port);
    let records = [Record { progress: Progress::Detached, ..record("c1", &network("blue")) }];
    let desired = Desired::new([network("blue")], &records);
    check("incomplete_port", &Scenario { about, desired, observed, context: known() });
}

#[test]
fn no_op() {
    let about = "The engine matches: nothing is planned.";
    let observed = programmed(EngineKind::OpenVswitch, &blue_with_pod());
    check("no_op", &Scenario { about, desired: blue_with_pod(), observed, context: known() });
}

#[test]
fn retry() {
    let about = "A port that the engine rejected is planned again.";
    let mut observed = programmed(EngineKind::OpenVswitch, &blue_with_pod());
    observed.bridges.get_mut("br-blue").unwrap().ports.clear();
    let desired = blue_with_pod();
    let unresolved =
        diff(&desired, &observed).into_iter().map(|operation| (operation.to_string(), operation)).collect();
    check("retry", &Scenario { about, desired, observed, context: PlanContext { unresolved, ..known() } });
}
