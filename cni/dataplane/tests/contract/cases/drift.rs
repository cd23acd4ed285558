//! Drift is repaired, and nothing else is changed.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use usnet_dataplane::engine::OpError;

pub(crate) fn objects_deleted_by_others_are_recreated(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let desired = switch.desired(&[blue.clone(), switch.network("red")], &["c1", "c2"]);
    converge(&mut engine, &desired);
    let identity = switch.port_identity(&port_name("c2"));

    switch.remove_port(bridge(&blue), &port_name("c1"));
    assert_eq!(converge(&mut engine, &desired), [switch.create_port("c1", &blue)]);
    assert_eq!(switch.port_identity(&port_name("c2")), identity, "a port beside it was touched");

    switch.remove_bridge(bridge(&blue));
    assert_eq!(converge(&mut engine, &desired).len(), 3);
    for container in ["c1", "c2"] {
        assert!(switch.forwards(bridge(&blue), &port_name(container)), "{container}");
    }
}

pub(crate) fn a_port_moved_by_others_is_moved_back(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let (blue, red) = (switch.network("blue"), switch.network("red"));
    let desired = switch.desired(&[blue.clone(), red.clone()], &["c1"]);
    converge(&mut engine, &desired);
    switch.move_port(&port_name("c1"), bridge(&blue), bridge(&red));
    assert_eq!(observe(&mut engine).bridges[bridge(&red)].ports.len(), 1);

    let refused = &apply(&mut engine, &[switch.create_port("c1", &blue)])[0];
    let is_elsewhere = matches!(refused, Err(OpError::PortDiffers { found, .. }) if found.contains("another bridge"));
    assert!(is_elsewhere, "{refused:?}");
    assert_eq!(converge(&mut engine, &desired).len(), 2);
    let observed = observe(&mut engine);
    assert_eq!((observed.bridges[bridge(&blue)].ports.len(), observed.bridges[bridge(&red)].ports.len()), (1, 0));
    assert!(switch.forwards(bridge(&blue), &port_name("c1")));
}
