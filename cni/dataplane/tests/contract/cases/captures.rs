//! Captures: they are no ports of a network, and nothing of them is left.

use crate::switch::Switch;
use crate::values::{Values, attachment, converge, observe, port_name};
use usnet_dataplane::capture::{Capture, CaptureNumber, Captures, Direction, Error};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::{blockers, diff};

fn kind<S: Switch>(_: &S) -> usnet_crds::EngineKind {
    S::KIND
}

pub(crate) fn captures(switch: &impl Switch) -> Captures {
    Captures::new(kind(switch), switch.control_socket())
}

pub(crate) fn number() -> CaptureNumber {
    CaptureNumber::all().next().expect("a number")
}

/// Of the port of a container in network blue, to a socket without a listener.
pub(crate) fn capture(switch: &impl Switch, container: &str) -> (Capture, PortOwner) {
    let capture = Capture {
        number: number(),
        port: port_name(container),
        socket: switch.control_socket().with_file_name("capture.sock"),
        direction: Direction::Both,
        snaplen: None,
    };
    (capture, PortOwner::new(&switch.network("blue").name, &attachment(container)))
}

pub(crate) fn start(switch: &impl Switch, container: &str) {
    let (capture, owner) = capture(switch, container);
    captures(switch).start(&capture, &owner).expect("a capture");
    assert_eq!(captures(switch).list().expect("captures"), [number()]);
}

pub(crate) fn a_capture_is_no_port_and_is_removed_by_its_mark(switch: &mut impl Switch) {
    let desired = switch.desired(&[switch.network("blue")], &["c1", "c2"]);
    converge(&mut switch.engine(), &desired);
    let before = observe(&mut switch.engine());
    start(switch, "c1");
    // Again, as after a program that was killed.
    start(switch, "c2");
    let observed = observe(&mut switch.engine());
    assert_eq!((diff(&desired, &observed), blockers(&desired, &observed).len()), (Vec::new(), 0));
    assert_eq!(observed, before);
    assert!(captures(switch).stop(number()).expect("stopped"));
    assert_eq!(captures(switch).list().expect("captures"), []);
    assert!(!captures(switch).stop(number()).expect("nothing to stop"));
}

pub(crate) fn a_captured_port_and_its_network_are_removed(switch: &mut impl Switch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1"]));
    start(switch, "c1");
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &[]));
    converge(&mut switch.engine(), &Desired::default());
    let observed = observe(&mut switch.engine());
    assert!(observed.bridges.is_empty() && observed.unbridged_ports.is_empty(), "{observed:?}");
    captures(switch).stop(number()).expect("stopped");
    assert_eq!(captures(switch).list().expect("captures"), []);
}

pub(crate) fn only_a_port_of_the_attachment_is_captured(switch: &mut impl Switch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1"]));
    let (missing, owner) = capture(switch, "c2");
    let error = captures(switch).start(&missing, &owner).expect_err("no such port");
    assert!(matches!(error, Error::NoPort { .. }), "{error}");
    assert_eq!(captures(switch).list().expect("captures"), []);
}
