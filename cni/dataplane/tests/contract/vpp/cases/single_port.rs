//! One port created or removed alone, as by ADD and DEL: what that reads, and what it depends on.

use super::limits::limited;
use crate::switch::Switch;
use crate::values::{Values, apply, attachment, bridge, converge, create_port, observe, port_name};
use crate::vpp::switch::{SOCKET_IDS, VppSwitch, domain_id};
use std::time::Duration;
use usnet_crds::NodeNetwork;
use usnet_dataplane::engine::{BlockingDriver, OpError};
use usnet_dataplane::plan::{Op, diff};
use usnet_dataplane::port::AttachedPort;
use usnet_dataplane::vpp::Vpp;

const AMPLE: Duration = Duration::from_secs(10);
/// An index that no interface has.
const NONE: u32 = 99;

/// Creates the port of a container, as ADD does. Returns the index of its interface.
fn create(switch: &VppSwitch, container: &str, network: &NodeNetwork) -> u32 {
    let committed = switch.engine().commit(&[switch.create_port(container, network)]).expect("VPP answers");
    assert_eq!(committed.results, [Ok(())]);
    let index = committed.interface_index.expect("VPP has indexes");
    assert_eq!(switch.other_client().interface(&port_name(container)).sw_if_index, index);
    index
}

/// Removes it, as DEL does.
fn remove(switch: &VppSwitch, container: &str, network: &NodeNetwork, index: Option<u32>) {
    let mut removal = switch.remove_port_op(container, network);
    let Op::RemovePort { interface_index, .. } = &mut removal else { panic!("{removal}") };
    *interface_index = index;
    assert_eq!(apply(&mut switch.engine(), &[removal]), [Ok(())]);
}

/// The requests that are about all interfaces of a type, or about all policers.
fn reads_all(requests: &[String]) -> bool {
    let all = ["memif_dump", "sw_interface_vhost_user_dump", "af_packet_dump", "policer_dump"];
    requests.iter().any(|request| all.contains(&request.as_str()))
}

pub(crate) fn it_reads_one_interface_whatever_their_number(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let sockets = switch.other_client().sockets();
    let mut measured = Vec::new();
    for others in [1, 9] {
        let others: Vec<String> = (0..others).map(|number| format!("other{number}")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let desired = switch.desired(std::slice::from_ref(&blue), &others);
        converge(&mut switch.engine(), &desired);
        let index = create(switch, "c1", &blue);
        switch.take_exchanged();
        remove(switch, "c1", &blue, Some(index));
        let exchanged = switch.take_exchanged();
        assert!(!reads_all(&exchanged.requests), "{exchanged:?}");
        measured.push(exchanged);
        // Nothing is left of it, and of the others all.
        assert_eq!(diff(&desired, &observe(&mut switch.engine())), []);
        let mut other_client = switch.other_client();
        let expected = sockets.len() + other_client.memifs().len();
        assert_eq!((other_client.ports(), other_client.sockets().len()), (others.len(), expected));
    }
    assert_eq!(measured[0], measured[1]);
    // One interface, its bridge domain and its features, that no table filters it, its access
    // lists, its deletion and that of its socket's id.
    assert!(measured[0].answers <= 7, "{measured:?}");
}

pub(crate) fn a_new_memif_reads_no_others(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let mut measured = Vec::new();
    for others in [1, 9] {
        let others: Vec<String> = (0..others).map(|number| format!("other{number}")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &others));
        switch.take_exchanged();
        let index = create(switch, "c1", &blue);
        measured.push(switch.take_exchanged());
        remove(switch, "c1", &blue, Some(index));
    }
    assert_eq!(measured[0], measured[1]);
}

/// VPP rejects the interface on a socket that has one by another id.
pub(crate) fn a_socket_that_another_id_has_serves_its_port(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let identity = switch.port_identity(&port_name("c1"));
    let range = "900-999".parse().expect("a range");
    let mut engine = Vpp::new(switch.client(AMPLE), range);
    let port = AttachedPort { name: port_name("c2"), ..switch.port("c1", &blue) };
    let operation = create_port(&blue.name, &attachment("c2"), &port);
    let results = apply(&mut engine, &[operation]);
    assert!(matches!(results[..], [Err(OpError::SocketInUse { .. })]), "{results:?}");
    assert_eq!(switch.port_identity(&port_name("c1")), identity);
    assert_eq!(switch.other_client().memifs().len(), 1);
}

pub(crate) fn an_index_of_another_port_removes_the_right_one(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c2"]));
    let other = switch.other_client().interface(&port_name("c2")).sw_if_index;
    let identity = switch.port_identity(&port_name("c2"));
    for index in [Some(other), Some(NONE), Some(0), Some(u32::MAX), None] {
        create(switch, "c1", &blue);
        remove(switch, "c1", &blue, index);
        assert_eq!(switch.other_client().ports(), 1, "{index:?}");
        assert_eq!(switch.port_identity(&port_name("c2")), identity, "{index:?}");
        assert!(switch.forwards(bridge(&blue), &port_name("c2")), "{index:?}");
    }
    // It is gone already, and another port has its index.
    let index = create(switch, "c1", &blue);
    remove(switch, "c1", &blue, Some(index));
    assert_eq!(create(switch, "c3", &blue), index);
    remove(switch, "c1", &blue, Some(index));
    assert!(switch.forwards(bridge(&blue), &port_name("c3")));
}

pub(crate) fn an_index_from_before_a_restart_removes_the_right_port(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
    let (first, second) = (create(switch, "c1", &blue), create(switch, "c2", &blue));
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
    assert_eq!((create(switch, "c2", &blue), create(switch, "c1", &blue)), (first, second));
    let identity = switch.port_identity(&port_name("c2"));
    remove(switch, "c1", &blue, Some(first));
    assert_eq!(switch.port_identity(&port_name("c2")), identity);
    let desired = switch.desired(std::slice::from_ref(&blue), &["c2"]);
    assert_eq!(diff(&desired, &observe(&mut switch.engine())), []);
    assert_eq!(switch.other_client().sockets().len(), 2, "VPP has one of its own");
}

/// Without its tag, out of its bridge domain, in an implicit one, in another one.
pub(crate) fn what_is_not_as_it_was_created_is_removed_completely(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let (id, other) = (domain_id(bridge(&blue)), domain_id(bridge(&switch.network("green"))));
    let changes: [&dyn Fn(u32); 4] = [
        &|index| switch.other_client().set_tag(index, ""),
        &|index| switch.other_client().take_out(index, id),
        &|index| {
            switch.other_client().remove_domain(id);
            switch.other_client().put_into(index, id);
        },
        &|index| switch.other_client().put_into(index, other),
    ];
    for change in changes {
        converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
        let index = create(switch, "c1", &blue);
        change(index);
        remove(switch, "c1", &blue, Some(index));
        let mut other_client = switch.other_client();
        assert_eq!((other_client.ports(), other_client.sockets().len()), (0, 1));
        let domains = other_client.domains();
        assert!(domains.values().all(|domain| !domain.bd_tag.as_str().is_empty()), "{domains:?}");
    }
}

pub(crate) fn a_second_interface_is_left_to_the_agent(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &[]);
    converge(&mut switch.engine(), &desired);
    let index = create(switch, "c1", &blue);
    let (tag, [first, _]) = (switch.other_client().interface(&port_name("c1")).tag, SOCKET_IDS);
    let socket = switch.volume("second").join("second.sock");
    switch.other_client().add_socket(first + 3, socket.to_str().expect("UTF-8"));
    let second = switch.other_client().add_memif(first + 3);
    switch.other_client().set_tag(second, tag.as_str());
    remove(switch, "c1", &blue, Some(index));
    assert_eq!(converge(&mut switch.engine(), &desired).len(), 1);
    let mut other_client = switch.other_client();
    assert_eq!((other_client.ports(), other_client.sockets().len()), (0, 1));
}

pub(crate) fn limits_are_deleted_with_their_port(switch: &mut VppSwitch) {
    for (ingress, egress) in [(Some(500), None), (None, Some(600)), (Some(500), Some(600))] {
        let blue = limited(&switch.network("blue"), ingress, egress);
        converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
        let index = create(switch, "c1", &blue);
        remove(switch, "c1", &blue, Some(index));
        let mut other_client = switch.other_client();
        assert_eq!((other_client.ports(), other_client.policers()), (0, vec![]), "{ingress:?} {egress:?}");
    }
}

/// To be run on one that does not tell which interfaces have policers.
pub(crate) fn before_26_06_policers_are_read(switch: &mut VppSwitch) {
    let blue = limited(&switch.network("blue"), None, Some(600));
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c2"]));
    let index = create(switch, "c1", &blue);
    remove(switch, "c1", &blue, Some(index));
    assert_eq!(switch.other_client().policers().len(), 1);
    let unlimited = limited(&blue, None, None);
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&unlimited), &[]));
    let index = create(switch, "c1", &unlimited);
    switch.take_exchanged();
    remove(switch, "c1", &unlimited, Some(index));
    let requests = switch.take_exchanged().requests;
    assert!(!requests.iter().any(|request| request == "memif_dump"), "{requests:?}");
}
