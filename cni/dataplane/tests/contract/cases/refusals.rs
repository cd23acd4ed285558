//! What cannot be done is refused by itself.

use crate::switch::Switch;
use crate::values::{
    Values, apply, attachment, bridge, bridge_missing, converge, create_bridge, create_port, is_foreign, observe,
    port_name,
};
use usnet_dataplane::engine::OpError;

pub(crate) fn a_failing_operation_does_not_block_the_others(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let [blue, green, red] = ["blue", "green", "red"].map(|name| switch.network(name));
    let nowhere = switch.network("nowhere");
    switch.add_foreign_bridge(bridge(&green));
    let operations = [
        create_bridge(&blue),
        create_bridge(&green),
        create_bridge(&red),
        switch.create_port("c1", &blue),
        switch.create_port("c2", &green),
        switch.create_port("c3", &nowhere),
        switch.create_port("c4", &red),
    ];
    let results = apply(&mut engine, &operations);
    assert!(is_foreign(&results[1], &green), "{results:?}");
    assert_eq!((&results[4], &results[5]), (&bridge_missing(&green), &bridge_missing(&nowhere)));
    for place in [0, 2, 3, 6] {
        assert_eq!(results[place], Ok(()), "{}", operations[place]);
    }
    let observed = observe(&mut engine);
    assert_eq!((observed.bridges[bridge(&blue)].ports.len(), observed.bridges[bridge(&red)].ports.len()), (1, 1));
    assert!(observed.bridges[bridge(&green)].ports.is_empty() && !observed.bridges.contains_key(bridge(&nowhere)));
    assert!(observed.unbridged_ports.is_empty(), "{:?}", observed.unbridged_ports);
}

pub(crate) fn one_socket_serves_one_port(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let mut thief = switch.port("c2", &blue);
    thief.backend = switch.backend("c1");
    let before = switch.dump();
    let create = [create_port(&blue.name, &attachment("c2"), &thief)];
    let results = apply(&mut engine, &create);
    assert!(matches!(&results[0], Err(OpError::SocketInUse { .. })), "{results:?}");
    assert_eq!(switch.dump(), before);
}

/// Two attachments with one port name, which only the engine as a whole can find out.
pub(crate) fn a_name_that_is_requested_twice_is_used_once(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let mut second = switch.port("c2", &blue);
    second.name = port_name("c1");
    let operations = [
        create_bridge(&blue),
        switch.create_port("c1", &blue),
        switch.create_port("c3", &blue),
        create_port(&blue.name, &attachment("c2"), &second),
        switch.create_port("c4", &blue),
    ];
    let results = apply(&mut engine, &operations);
    let failed: Vec<_> = results.iter().map(Result::is_err).collect();
    assert_eq!(failed, [false, false, false, true, false], "{results:?}");
    assert!(matches!(&results[3], Err(OpError::PortDiffers { found, .. }) if found.contains("c1.net1")), "{results:?}");
}
