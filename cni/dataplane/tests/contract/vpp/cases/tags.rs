//! Tags: those of usnet on unsupported objects, the longest ones, and those of others.

use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, create_bridge, create_port, observe, port_name};
use crate::vpp::switch::{VppSwitch, domain_id};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::{blockers, diff};
use usnet_dataplane::port::{AttachedPort, PortName};

pub(crate) fn a_tag_on_an_unsupported_object_does_not_imply_ownership(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let indexes = ["usn=c1.net1", "usn=c9.net1"].map(|tag| {
        let index = switch.other_client().add_loopback();
        switch.other_client().set_tag(index, tag);
        index
    });
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    assert_eq!(diff(&Desired::default(), &observe(&mut engine)), []);
    assert_eq!(converge(&mut engine, &desired), [create_bridge(&blue), switch.create_port("c1", &blue)]);
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports.len(), 1);
    // One of them in an owned bridge domain counts as a foreign port, and keeps the bridge domain.
    switch.other_client().put_into(indexes[1], domain_id(bridge(&blue)));
    converge(&mut engine, &Desired::default());
    assert_eq!(observe(&mut engine).bridges[bridge(&blue)].ports.len(), 1);
    let observed = switch.other_client().interfaces();
    assert!(indexes.iter().all(|index| observed.iter().any(|interface| interface.sw_if_index == *index)));
}

pub(crate) fn a_bridge_domain_with_an_invalid_tag_is_not_owned(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    switch.other_client().add_domain(domain_id(bridge(&blue)), "usnet:Not A Name");
    let observed = observe(&mut engine);
    assert_eq!(observed.bridges[bridge(&blue)].owner, None);
    assert_eq!(diff(&Desired::default(), &observed), []);
    let desired = switch.desired(&[blue], &["c1"]);
    assert_eq!((diff(&desired, &observed), blockers(&desired, &observed).len()), (vec![], 1));
}

fn named(switch: &VppSwitch, container: &str, interface: &str) -> (AttachmentId, AttachedPort) {
    let id = AttachmentId {
        container: container.parse().expect("a container id"),
        interface: interface.parse().expect("an interface"),
    };
    let port = AttachedPort { name: PortName::of(&id), ..switch.port("c1", &switch.network("blue")) };
    (id, port)
}

pub(crate) fn the_longest_usual_attachment_and_network_are_found_again(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let network = switch.network(&"n".repeat(57));
    let (attachment, port) = named(switch, &"0123456789abcdef".repeat(4), "interface-name1");
    let port = AttachedPort { bridge: network.bridge.name.clone(), ..port };
    let (name, owner) = (port.name.clone(), PortOwner::new(&network.name, &attachment));
    let create = create_port(&network.name, &attachment, &port);
    let operations = [create_bridge(&network), create];
    assert_eq!(apply(&mut engine, &operations), [Ok(()), Ok(())]);
    let interfaces = switch.other_client().interfaces();
    assert!(interfaces.iter().any(|interface| interface.tag.as_str().len() == 63));
    let observed = observe(&mut engine);
    assert_eq!(observed.bridges[bridge(&network)].network(), Some(&network.name));
    assert_eq!(observed.bridges[bridge(&network)].ports[&name].owner, Some(owner));
    let before = switch.changes();
    assert_eq!(apply(&mut engine, &operations), [Ok(()), Ok(())]);
    assert_eq!(switch.changes(), before);
    assert_eq!(converge(&mut engine, &Desired::default()).len(), 2);
}

pub(crate) fn names_too_long_for_a_tag_are_rejected_and_nothing_is_created(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let (attachment, port) = named(switch, &"Z".repeat(64), "net1");
    let operations = [
        create_port(&blue.name, &attachment, &port),
        create_bridge(&switch.network(&"n".repeat(58))),
        switch.create_port("c2", &blue),
    ];
    let results = apply(&mut engine, &operations);
    for (result, advice) in results.iter().zip(["64 hexadecimal digits", "use a shorter name"]) {
        let text = result.as_ref().expect_err("it is too long").to_string();
        assert!(text.contains("cannot be tagged in VPP") && text.contains(advice), "{text}");
    }
    assert_eq!(results[2], Ok(()));
    let observed = observe(&mut engine);
    assert_eq!((observed.bridges.len(), observed.unbridged_ports.len()), (1, 0));
    assert_eq!(observed.bridges[bridge(&blue)].ports.keys().collect::<Vec<_>>(), [&port_name("c2")]);
    assert_eq!(switch.other_client().memifs().len(), 1);
}
