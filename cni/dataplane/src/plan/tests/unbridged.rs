//! Ports that are on no bridge: half-made ones, and those that somebody took off.

use super::model::Model;
use crate::attachment::{Progress, Record};
use crate::desired::Desired;
use crate::observed::{Observed, ObservedPort};
use crate::plan::plan;
use crate::port::PortName;
use crate::testing::{attachment, backend, network, record};
use usnet_crds::Engine;

/// An engine with the bridge of network blue and the port of `c1`, which `change` then changes and which is on no bridge.
fn with_unbridged_port(name: &str, change: impl FnOnce(&mut ObservedPort)) -> Observed {
    let mut engine = Model::empty(Engine::Vpp);
    let spec = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    engine.apply_all(&plan(&spec, &engine.observed)).unwrap();
    let ports = &mut engine.observed.bridges.get_mut("br-blue").unwrap().ports;
    let mut port = ports.remove(&PortName::of(&attachment("c1"))).unwrap();
    change(&mut port);
    engine.observed.unbridged_ports.insert(PortName::observed(name), port);
    engine.observed
}

/// As VPP shows it: the mark says nothing of a network where no bridge does.
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
    plan(desired, engine).iter().map(ToString::to_string).collect()
}

const CREATED: &str = "create port vhu3c7bbaa36bb of c1.net1 on bridge br-blue";

#[test]
fn one_that_is_wanted_is_put_back_and_not_made_anew() {
    for engine in [tagged(), untagged()] {
        assert_eq!(text(&desired(Progress::Attached), &engine), [CREATED]);
        let mut engine = Model { kind: Engine::Vpp, observed: engine };
        engine.apply_all(&plan(&desired(Progress::Attached), &engine.observed)).unwrap();
        assert!(engine.observed.unbridged_ports.is_empty());
    }
}

#[test]
fn one_that_the_plugin_is_making_is_left_to_it() {
    for engine in [tagged(), untagged()] {
        assert_eq!(text(&desired(Progress::Attaching), &engine), [""; 0]);
    }
}

#[test]
fn one_that_nobody_wants_goes_if_it_has_our_mark() {
    let nobody = Desired::new([network("blue")], []);
    let removed = "remove port vhu3c7bbaa36bb of c1.net1, which is on no bridge";
    assert_eq!(text(&nobody, &tagged()), [removed]);
    assert_eq!(text(&desired(Progress::Detaching), &tagged()), [removed]);
    assert_eq!(text(&nobody, &untagged()), [""; 0]);
}

#[test]
fn one_with_another_socket_than_its_attachment_is_made_anew() {
    let mut engine = tagged();
    let port = engine.unbridged_ports.values_mut().next().unwrap();
    port.backend = Some(backend("elsewhere"));
    let made_anew = ["remove port vhu3c7bbaa36bb of c1.net1, which is on no bridge", CREATED];
    assert_eq!(text(&desired(Progress::Attached), &engine), made_anew);
}

#[test]
fn one_that_was_never_marked_goes_with_its_attachment() {
    for progress in [Progress::Detaching, Progress::Detached] {
        let operations = text(&desired(progress), &untagged());
        assert_eq!(operations, ["remove port memif7/0 of c1.net1, which is on no bridge"], "{progress:?}");
    }
}

/// The sandbox of a pod was made anew: the socket is in the same place, and the port may be the new one's.
#[test]
fn one_that_was_never_marked_stays_when_somebody_else_has_its_socket() {
    let detached = Record { progress: Progress::Detaching, ..record("c1", &network("blue")) };
    let mut newer = Record { progress: Progress::Attaching, ..record("c2", &network("blue")) };
    newer.port.backend = detached.port.backend.clone();
    let desired = Desired::new([network("blue")], &[detached, newer]);
    assert_eq!(text(&desired, &untagged()), [""; 0]);
}
