//! Ports that are on no bridge: half-made ones, and those that somebody took off.

use super::model::Model;
use crate::attachment::{Progress, Record};
use crate::desired::Desired;
use crate::observed::{Observed, ObservedPort};
use crate::plan::plan;
use crate::port::PortName;
use crate::testing::{attachment, connection, network, record};
use usnet_crds::Engine;

/// An engine with the bridge of network blue and the port of `c1`, which `change` then changes and which is on no bridge.
fn with_loose_port(name: &str, change: impl FnOnce(&mut ObservedPort)) -> Observed {
    let mut engine = Model::empty(Engine::Vpp);
    let wanted = Desired::new([network("blue")], &[record("c1", &network("blue"))]);
    engine.apply_all(&plan(&wanted, &engine.shown)).unwrap();
    let ports = &mut engine.shown.bridges.get_mut("br-blue").unwrap().ports;
    let mut port = ports.remove(&PortName::of(&attachment("c1"))).unwrap();
    change(&mut port);
    engine.shown.loose.insert(PortName::observed(name), port);
    engine.shown
}

/// As VPP shows it: the mark says nothing of a network where no bridge does.
fn marked() -> Observed {
    with_loose_port(PortName::of(&attachment("c1")).as_str(), |port| port.mark.as_mut().unwrap().network = None)
}

fn unmarked() -> Observed {
    with_loose_port("memif7/0", |port| port.mark = None)
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
    for engine in [marked(), unmarked()] {
        assert_eq!(text(&desired(Progress::Attached), &engine), [CREATED]);
        let mut engine = Model { kind: Engine::Vpp, shown: engine };
        engine.apply_all(&plan(&desired(Progress::Attached), &engine.shown)).unwrap();
        assert!(engine.shown.loose.is_empty());
    }
}

#[test]
fn one_that_the_plugin_is_making_is_left_to_it() {
    for engine in [marked(), unmarked()] {
        assert_eq!(text(&desired(Progress::Attaching), &engine), [""; 0]);
    }
}

#[test]
fn one_that_nobody_wants_goes_if_it_has_our_mark() {
    let nobody = Desired::new([network("blue")], []);
    let removed = "remove port vhu3c7bbaa36bb of c1.net1, which is on no bridge";
    assert_eq!(text(&nobody, &marked()), [removed]);
    assert_eq!(text(&desired(Progress::Detaching), &marked()), [removed]);
    assert_eq!(text(&nobody, &unmarked()), [""; 0]);
}

#[test]
fn one_with_another_socket_than_its_attachment_is_made_anew() {
    let mut engine = marked();
    let port = engine.loose.values_mut().next().unwrap();
    port.connection = Some(connection("elsewhere"));
    let made_anew = ["remove port vhu3c7bbaa36bb of c1.net1, which is on no bridge", CREATED];
    assert_eq!(text(&desired(Progress::Attached), &engine), made_anew);
}

#[test]
fn one_that_was_never_marked_goes_with_its_attachment() {
    for progress in [Progress::Detaching, Progress::Detached] {
        let operations = text(&desired(progress), &unmarked());
        assert_eq!(operations, ["remove port memif7/0 of c1.net1, which is on no bridge"], "{progress:?}");
    }
}

/// The sandbox of a pod was made anew: the socket is in the same place, and the port may be the new one's.
#[test]
fn one_that_was_never_marked_stays_when_somebody_else_has_its_socket() {
    let ended = Record { progress: Progress::Detaching, ..record("c1", &network("blue")) };
    let mut newer = Record { progress: Progress::Attaching, ..record("c2", &network("blue")) };
    newer.port.connection = ended.port.connection.clone();
    let desired = Desired::new([network("blue")], &[ended, newer]);
    assert_eq!(text(&desired, &unmarked()), [""; 0]);
}
