//! Rows of the table `QoS` are not deleted with their ports automatically.

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
fn a_limit_is_deleted_with_its_port_and_foreign_ones_are_kept() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let blue = limited(daemons.network("blue"));
    let rows = || vsctl(&daemons, "--bare --columns=_uuid list QoS").split_whitespace().count();
    vsctl(&daemons, "create QoS type=linux-noop external_ids:owner=other");
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c1", "c2", "c3"]));
    assert_eq!(rows(), 4);

    // One port is deleted by a DEL, one by others before its DEL.
    daemons.remove_port(bridge(&blue), &port_name("c2"));
    let removals = ["c1", "c2"].map(|container| daemons.remove_port_op(container, &blue));
    assert_eq!(apply(&mut engine, &removals), [Ok(()), Ok(())]);
    assert_eq!(rows(), 2);
    // One is recreated after others deleted it.
    daemons.remove_port(bridge(&blue), &port_name("c3"));
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &["c3"]));
    assert_eq!((rows(), daemons.enforced(&port_name("c3"))), (2, blue.port.rate_limit));
    converge(&mut engine, &Desired::default());
    assert_eq!(vsctl(&daemons, "--bare --columns=external_ids list QoS").trim(), "owner=other");
}

#[test]
fn a_limit_without_a_tag_is_not_owned() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let blue = limited(daemons.network("blue"));
    let desired = daemons.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let port = port_name("c1");
    let same = "type=egress-policer other_config:cir=125000 other_config:cbs=20000";
    vsctl(&daemons, &format!("set Port {port} qos=@theirs -- --id=@theirs create QoS {same}"));
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports[&port].settings.rate_limit, None);
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    // The foreign row is kept; the port refers to the row of usnet.
    assert_eq!(vsctl(&daemons, "--bare --columns=_uuid list QoS").split_whitespace().count(), 2);
    assert_eq!(
        observe(&mut engine).bridges[bridge(&blue)].ports[&port].settings.rate_limit,
        Some(blue.port.rate_limit)
    );
}
