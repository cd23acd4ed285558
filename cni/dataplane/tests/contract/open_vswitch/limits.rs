//! Rows of the table `QoS` do not go with their ports by themselves.

use super::{start, vsctl};
use crate::switch::{Settings, Switch};
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use usnet_crds::{KilobitsPerSecond, NodeNetwork};
use usnet_dataplane::desired::Desired;

fn limited(mut network: NodeNetwork) -> NodeNetwork {
    network.port.rate_limit.ingress_kbps = KilobitsPerSecond::try_from(1000).ok();
    network
}

#[test]
fn a_limit_goes_with_its_port_and_those_of_others_stay() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let blue = limited(daemons.network("blue"));
    let rows = || vsctl(&daemons, "--bare --columns=_uuid list QoS").split_whitespace().count();
    vsctl(&daemons, "create QoS type=linux-noop external_ids:owner=somebody");
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c1", "c2", "c3"]));
    assert_eq!(rows(), 4);

    // One goes as it should, one was taken away by somebody else before its DEL.
    daemons.remove_port(bridge(&blue), &port_name("c2"));
    let removals = ["c1", "c2"].map(|container| daemons.remove_port_op(container, &blue));
    assert_eq!(apply(&mut engine, &removals), [Ok(()), Ok(())]);
    assert_eq!(rows(), 2);
    // One is made again after somebody else took it away.
    daemons.remove_port(bridge(&blue), &port_name("c3"));
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c3"]));
    assert_eq!((rows(), daemons.enforced(&port_name("c3"))), (2, blue.port.rate_limit));
    converge(&mut engine, &Desired::default());
    assert_eq!(vsctl(&daemons, "--bare --columns=external_ids list QoS").trim(), "owner=somebody");
}

#[test]
fn a_limit_that_is_not_marked_as_ours_is_none_of_ours() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let blue = limited(daemons.network("blue"));
    let desired = daemons.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let port = port_name("c1");
    let same = "type=egress-policer other_config:cir=125000 other_config:cbs=20000";
    vsctl(&daemons, &format!("set Port {port} qos=@theirs -- --id=@theirs create QoS {same}"));
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports[&port].rate_limit, None);
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    // Theirs stays, for whatever they want it; the port has ours.
    assert_eq!(vsctl(&daemons, "--bare --columns=_uuid list QoS").split_whitespace().count(), 2);
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports[&port].rate_limit, Some(blue.port.rate_limit));
}
