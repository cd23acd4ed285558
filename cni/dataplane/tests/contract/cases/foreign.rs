//! Objects that usnet does not own are neither changed nor deleted.

use crate::switch::Switch;
use crate::values::{
    Values, apply, bridge, bridge_missing, changed, converge, create_bridge, is_foreign, observe, remove_bridge,
    update_bridge,
};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::{Blocker, blockers, diff};

pub(crate) fn a_foreign_bridge_of_the_same_name_is_not_changed(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    switch.add_foreign_bridge(bridge(&blue));
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let observed = observe(&mut engine);
    assert_eq!(diff(&desired, &observed), []);
    let blocker = Blocker::BridgeExists { bridge: blue.bridge.name.clone() };
    assert_eq!(blockers(&desired, &observed).into_values().collect::<Vec<_>>(), [blocker]);

    let before = switch.dump();
    for operation in [create_bridge(&blue), update_bridge(&blue), remove_bridge(&blue)] {
        let results = apply(&mut engine, std::slice::from_ref(&operation));
        assert!(is_foreign(&results[0], &blue), "{operation}: {results:?}");
    }
    assert_eq!(apply(&mut engine, &[switch.create_port("c1", &blue)]), [bridge_missing(&blue)]);
    assert_eq!(switch.dump(), before);
}

pub(crate) fn a_foreign_port_survives_in_an_owned_bridge(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let foreign = switch.add_foreign_port(bridge(&blue));
    converge(&mut engine, &switch.desired(&[changed(&blue, 1600, 7)], &["c2"]));
    assert!(converge(&mut engine, &Desired::default()).len() == 1, "only the port of usnet is deleted");

    let before = switch.dump();
    let in_use = OpError::BridgeInUse { bridge: bridge(&blue).to_owned() };
    assert_eq!(apply(&mut engine, &[remove_bridge(&blue)]), [Err(in_use)]);
    assert_eq!(switch.dump(), before);
    let ports = &observe(&mut engine).bridges[bridge(&blue)].ports;
    assert_eq!(ports.keys().collect::<Vec<_>>(), [&foreign]);

    switch.remove_port(bridge(&blue), &foreign);
    assert_eq!(converge(&mut engine, &Desired::default()), [remove_bridge(&blue)]);
}

pub(crate) fn a_bridge_without_a_tag_is_no_longer_owned(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    switch.remove_tag(bridge(&blue), &blue.name);
    assert_eq!(diff(&Desired::default(), &observe(&mut engine)), []);
    let before = switch.dump();
    let results = apply(&mut engine, &[remove_bridge(&blue)]);
    assert!(is_foreign(&results[0], &blue), "{results:?}");
    assert_eq!(apply(&mut engine, &[switch.create_port("c1", &blue)]), [bridge_missing(&blue)]);
    assert_eq!(switch.dump(), before);
}
