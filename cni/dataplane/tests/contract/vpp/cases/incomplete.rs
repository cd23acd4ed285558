//! An ADD killed between any two messages: the next one completes the port, and a DEL deletes it.

use crate::switch::Switch;
use crate::values::{Values, apply, attachment, bridge, converge, observe, port_name, remove_bridge};
use crate::vpp::switch::{SOCKET_IDS, VppSwitch, domain_id};
use std::collections::BTreeMap;
use usnet_crds::Ownership;
use usnet_dataplane::desired::{Desired, TornDownAttachment};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::plan::{blockers, diff};
use usnet_dataplane::port::PortBackend;
use usnet_dataplane::tagging::Tagging;
use usnet_vpp::messages::{IfStatusFlags, L2InterfaceVlanTagRewrite, SwInterfaceSetFlags, VtrOp};

const TAG: &str = "usn=c1.net1";

fn socket_name(switch: &VppSwitch) -> String {
    let PortBackend::Memif { socket, .. } = switch.backend("c1") else { panic!("these are cases of memif") };
    socket.to_string()
}

/// The messages of an ADD, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    SocketId,
    Memif,
    Mark,
    Domain,
}

const STEPS: [Step; 4] = [Step::SocketId, Step::Memif, Step::Mark, Step::Domain];

/// Leaves the port of `c1` as after this message. Its network's bridge domain may exist or not.
fn interrupt_after(switch: &VppSwitch, step: Step, bridge: &str) {
    let (mut other_client, [first, last]) = (switch.other_client(), SOCKET_IDS);
    let name = socket_name(switch);
    let ids: MemifSocketIds = format!("{first}-{last}").parse().expect("a range");
    // With an interface it may be any id: others may have had the first.
    let id = ids.of_socket(&name).nth(if step == Step::SocketId { 0 } else { 3 }).expect("an id");
    other_client.add_socket(id, &name);
    if step >= Step::Memif {
        let index = other_client.add_memif(id);
        if step >= Step::Mark {
            other_client.set_tag(index, TAG);
        }
        if step >= Step::Domain {
            other_client.put_into(index, domain_id(bridge));
        }
    }
}

/// The MAC addresses of all memifs: none of them is a second one for `c1`.
fn memifs(switch: &VppSwitch) -> Vec<[u8; 6]> {
    switch.other_client().memifs().iter().map(|memif| memif.hw_addr).collect()
}

/// VPP's own has the id 0.
fn socket_ids(switch: &VppSwitch) -> BTreeMap<u32, String> {
    let mut sockets = switch.other_client().sockets();
    sockets.remove(&0);
    sockets
}

fn assert_complete(switch: &VppSwitch, bridge: &str) {
    assert!(switch.forwards(bridge, &port_name("c1")));
    assert_eq!(socket_ids(switch).into_values().collect::<Vec<_>>(), [socket_name(switch)]);
    assert_eq!(memifs(switch).len(), 1);
}

fn assert_deleted(switch: &VppSwitch) {
    assert_eq!((memifs(switch), socket_ids(switch)), (vec![], BTreeMap::new()));
}

pub(crate) fn each_is_completed_by_the_next_add(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    for step in STEPS {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
        interrupt_after(switch, step, bridge(&blue));
        let before = memifs(switch);
        assert_eq!(apply(&mut engine, &[switch.create_port("c1", &blue)]), [Ok(())], "{step:?}");
        assert_complete(switch, bridge(&blue));
        assert!(before.is_empty() || memifs(switch) == before, "{step:?}: it was recreated");
        converge(&mut engine, &Desired::default());
        assert_deleted(switch);
    }
}

pub(crate) fn each_is_deleted_by_a_del(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    for step in STEPS {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
        interrupt_after(switch, step, bridge(&blue));
        // As the plugin requests it: without reading first.
        assert_eq!(apply(&mut engine, &[switch.remove_port_op("c1", &blue)]), [Ok(())], "{step:?}");
        assert_deleted(switch);
        assert_eq!(converge(&mut engine, &Desired::default()), [remove_bridge(&blue)]);
    }
}

pub(crate) fn the_agent_deletes_the_port_of_a_detached_attachment(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let detached = TornDownAttachment { network: blue.name.clone(), backend: switch.backend("c1") };
    let mut desired = switch.desired(std::slice::from_ref(&blue), &["c2"]);
    desired.detached.insert(attachment("c1"), detached);
    for step in [Step::Memif, Step::Mark, Step::Domain] {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c2"]));
        let identity = switch.port_identity(&port_name("c2"));
        interrupt_after(switch, step, bridge(&blue));
        converge(&mut engine, &desired);
        assert_eq!(memifs(switch).len(), 1, "{step:?}");
        assert_eq!(switch.port_identity(&port_name("c2")), identity);
        assert_eq!(socket_ids(switch).len(), 1, "{step:?}");
    }
}

pub(crate) fn the_agent_completes_an_attached_port(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    for step in STEPS {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
        interrupt_after(switch, step, bridge(&blue));
        converge(&mut engine, &desired);
        assert_complete(switch, bridge(&blue));
        converge(&mut engine, &Desired::default());
        assert_deleted(switch);
    }
}

pub(crate) fn a_port_set_down_is_set_up(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut engine, &desired);
    let sw_if_index = switch.other_client().interface(&port_name("c1")).sw_if_index;
    switch.other_client().request(SwInterfaceSetFlags { sw_if_index, flags: IfStatusFlags::default() });
    assert!(!switch.forwards(bridge(&blue), &port_name("c1")));
    assert_eq!(converge(&mut engine, &desired).len(), 1);
    assert!(switch.forwards(bridge(&blue), &port_name("c1")));
}

/// VPP silently creates a bridge domain when an interface is added to one that does not exist any
/// more or yet: without an ownership tag.
pub(crate) fn an_implicit_bridge_domain_is_recreated_with_an_owner(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    interrupt_after(switch, Step::Domain, bridge(&blue));
    assert_eq!(switch.other_client().domains()[&domain_id(bridge(&blue))].bd_tag.as_str(), "");
    let identity = memifs(switch);
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].network(), Some(&blue.name));
    assert_complete(switch, bridge(&blue));
    assert_eq!(memifs(switch), identity);
}

/// The same, and the attachment is detached.
pub(crate) fn an_implicit_bridge_domain_is_deleted_with_its_port(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    interrupt_after(switch, Step::Domain, bridge(&blue));
    assert_eq!(apply(&mut engine, &[switch.remove_port_op("c1", &blue)]), [Ok(())]);
    assert_deleted(switch);
    assert!(!switch.other_client().domains().contains_key(&domain_id(bridge(&blue))));
}

/// With only ports of usnet in it, it could not be distinguished from an implicit one.
pub(crate) fn a_bridge_domain_without_a_tag_is_not_adopted(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let mut blue = switch.network("blue");
    blue.bridge.ownership = Ownership::Adopted;
    switch.other_client().add_domain(domain_id(bridge(&blue)), "");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let observed = observe(&mut engine);
    assert_eq!(diff(&desired, &observed), []);
    let text = blockers(&desired, &observed)[&blue.name].to_string();
    assert!(text.contains("cannot be adopted: it has no tag"), "{text}");
    let refused = &apply(&mut engine, &[switch.create_port("c1", &blue)])[0];
    assert!(matches!(refused, Err(OpError::BridgeUnusable { .. })), "{refused:?}");
    assert_deleted(switch);
}

/// VPP passes on the VLAN rewrite of an interface that was deleted outside of any bridge domain to
/// the next one with its index.
pub(crate) fn a_new_port_inherits_no_vlan(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let sw_if_index = switch.other_client().add_loopback();
    let (vtr_op, push_dot1q, tag1, tag2) = (VtrOp::Push1, 1, 9, 0);
    switch.other_client().request(L2InterfaceVlanTagRewrite { sw_if_index, vtr_op, push_dot1q, tag1, tag2 });
    switch.other_client().remove_interface(sw_if_index);

    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    assert_eq!(switch.other_client().interface(&port_name("c1")).sw_if_index, sw_if_index);
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports[&port_name("c1")].settings.tagging, Tagging::Untagged);
}
