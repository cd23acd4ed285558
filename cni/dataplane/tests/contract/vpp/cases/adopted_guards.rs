//! Guards of ports on a bridge domain of others, which has ports of others as well.

use super::guards::{OF_A, desired, guard_of, network, state, tables};
use crate::switch::{Settings, Switch};
use crate::values::{bridge, converge, port_name};
use crate::vpp::switch::VppSwitch;
use usnet_crds::Ownership;
use usnet_dataplane::desired::Desired;

pub(crate) fn ports_of_an_adopted_bridge_domain_are_guarded_and_nothing_else_changes(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let mut blue = network(switch);
    blue.bridge.ownership = Ownership::Adopted;
    switch.add_foreign_bridge(bridge(&blue));
    switch.add_foreign_port(bridge(&blue));
    let before = switch.bridge_settings(bridge(&blue));

    assert_eq!(converge(&mut engine, &desired(switch, &blue, &[("c1", Some(OF_A)), ("c2", None)])).len(), 2);
    assert_eq!((state(switch, "c1"), state(switch, "c2")), ((true, true), (false, true)));
    assert_eq!(guard_of(switch, &blue, "c1").as_deref(), Some(OF_A));

    // It was taken out and put back by its owner.
    let (index, domain) = (switch.other_client().interface(&port_name("c1")).sw_if_index, bridge(&blue).parse());
    let domain = domain.expect("an id");
    switch.other_client().take_out(index, domain);
    switch.other_client().put_into(index, domain);
    assert_eq!(state(switch, "c1"), (false, true));
    converge(&mut engine, &desired(switch, &blue, &[("c1", Some(OF_A)), ("c2", None)]));
    assert_eq!((guard_of(switch, &blue, "c1").as_deref(), state(switch, "c1")), (Some(OF_A), (true, true)));

    converge(&mut engine, &Desired::default());
    assert_eq!((tables(switch), switch.bridge_settings(bridge(&blue))), (Vec::new(), before));
}
