//! Ports that are on no bridge: incomplete ones, and those that others removed from their bridge.

use super::model::Model;
use crate::model::attachment::{Progress, Record};
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedPort};
use crate::model::port::PortName;
use crate::plan::diff;
use crate::testing::{attachment, backend, network, record};
use usnet_crds::EngineKind;

/// An engine with the bridge of network blue and the unbridged port of `c1`, modified by `change`.
fn with_unbridged_port(name: &str, change: impl FnOnce(&mut ObservedPort)) -> Observed {
    let mut engine = Model::empty(EngineKind::Vpp);
    let spec = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    engine.apply_all(&diff(&spec, &engine.observed)).unwrap();
    let ports = &mut engine.observed.bridges.get_mut("br-blue").unwrap().ports;
    let mut port = ports.remove(&PortName::of(&attachment("c1"))).unwrap();
    change(&mut port);
    engine.observed.unbridged_ports.insert(PortName::observed(name), port);
    engine.observed
}

/// As observed in VPP: the network is known from the bridge only.
fn tagged() -> Observed {
    with_unbridged_port(PortName::of(&attachment("c1")).as_str(), |port| port.owner.as_mut().unwrap().network = None)
}

fn untagged() -> Observed {
    with_unbridged_port("memif7/0", |port| port.owner = None)
}

fn desired(progress: Progress) -> Desired {
    Desired::new([network("blue")], &[Record { progress, ..record("c1", &network("blue")) }])
}

fn text(desired: &Desired, engine: &Observed) -> Vec<String> {
    diff(desired, engine).iter().map(ToString::to_string).collect()
}

const CREATED: &str = "create port vhu3c7bbaa36bb of c1.net1 on bridge br-blue";

#[test]
fn one_that_is_desired_is_moved_back_and_not_recreated() {
    for engine in [tagged(), untagged()] {
        assert_eq!(text(&desired(Progress::Attached), &engine), [CREATED]);
        let mut engine = Model { kind: EngineKind::Vpp, observed: engine };
        engine.apply_all(&diff(&desired(Progress::Attached), &engine.observed)).unwrap();
        assert!(engine.observed.unbridged_ports.is_empty());
    }
}

#[test]
fn one_that_the_plugin_is_creating_is_not_changed() {
    for engine in [tagged(), untagged()] {
        assert_eq!(text(&desired(Progress::Attaching), &engine), [""; 0]);
    }
}

#[test]
fn one_that_is_not_desired_is_deleted_if_it_is_tagged() {
    let no_attachment = Desired::new([network("blue")], []);
    let removed = "remove port vhu3c7bbaa36bb of c1.net1, which is on no bridge";
    assert_eq!(text(&no_attachment, &tagged()), [removed]);
    assert_eq!(text(&desired(Progress::Detaching), &tagged()), [removed]);
    assert_eq!(text(&no_attachment, &untagged()), [""; 0]);
}

#[test]
fn one_with_another_socket_than_its_attachment_is_recreated() {
    let mut engine = tagged();
    let port = engine.unbridged_ports.values_mut().next().unwrap();
    port.backend = Some(backend("elsewhere"));
    let recreated = ["remove port vhu3c7bbaa36bb of c1.net1, which is on no bridge", CREATED];
    assert_eq!(text(&desired(Progress::Attached), &engine), recreated);
}

#[test]
fn an_untagged_one_is_deleted_with_its_attachment() {
    for progress in [Progress::Detaching, Progress::Detached] {
        let operations = text(&desired(progress), &untagged());
        assert_eq!(operations, ["remove port memif7/0 of c1.net1, which is on no bridge"], "{progress:?}");
    }
}

/// The sandbox of a pod was recreated: the socket has the same path, and the port may belong to the
/// new sandbox.
#[test]
fn an_untagged_one_is_kept_if_another_attachment_has_its_socket() {
    let detached = Record { progress: Progress::Detaching, ..record("c1", &network("blue")) };
    let mut newer = Record { progress: Progress::Attaching, ..record("c2", &network("blue")) };
    newer.port.backend = detached.port.backend.clone();
    let desired = Desired::new([network("blue")], &[detached, newer]);
    assert_eq!(text(&desired, &untagged()), [""; 0]);
}
