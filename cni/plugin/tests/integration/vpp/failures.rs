//! A VPP that is not usable, and names that it would reject: an error with a remedy, and no partial
//! attachment.

use crate::support::engine::on_each_vpp;
use crate::support::vpp::VppSnapshot;
use crate::support::{NETWORK, TestNode, port_types};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

on_each_vpp! {
    a_hanging_vpp_is_reported_soon,
    a_hanging_vpp_does_not_fail_del,
    an_interface_name_that_vpp_would_reject_is_rejected_before_any_change,
    a_network_namespace_that_is_gone_leaves_nothing,
    exhausted_socket_ids_are_reported,
    files_at_the_socket_path_of_vpp_are_replaced_or_fail_their_own_pod,
    a_listener_of_the_pod_is_replaced,
}

fn a_hanging_vpp_is_reported_soon(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::memif_in_volume(), None);
    let pod = node.pod("p");
    node.vpp().pause().unwrap();
    let output = node.add(&pod, "net1");
    output.assert_in_time();
    let error = output.error();
    assert!(output.message(11).contains("VPP"), "{error}");
    assert!(error["details"].as_str().unwrap().contains("does it hang?"), "{error}");
    node.assert_no_files();
    node.vpp().resume().unwrap();
    node.add(&pod, "net1").result();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn a_hanging_vpp_does_not_fail_del(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::memif_in_volume(), None);
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    node.vpp().pause().unwrap();
    let output = node.del(&pod, "net1");
    output.assert_done();
    output.assert_in_time();
    assert!(output.stderr().contains("the agent removes the port later"), "{output:?}");
    assert_eq!(node.mounts(), []);
    assert_eq!(node.records().len(), 1);
    node.vpp().resume().unwrap();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn an_interface_name_that_vpp_would_reject_is_rejected_before_any_change(node: &mut TestNode) {
    for port in [port_types::memif_in_volume(), port_types::memif_in_namespace()] {
        node.program_network_with(NETWORK, &port, None);
        let pod = node.pod("p");
        for bad in ["net@1", "a,b", "a=b"] {
            let message = node.add(&pod, bad).message(4);
            assert!(message.contains(bad) && message.contains("letters, digits"), "{message}");
            node.assert_clean();
            node.del(&pod, bad).assert_done();
        }
    }
}

fn a_network_namespace_that_is_gone_leaves_nothing(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::memif_in_namespace(), None);
    let pod = node.pod("p");
    for (namespace, code, reported) in
        [("/run/netns/gone", 104, "VPP"), ("netns/p", 4, "CNI_NETNS"), ("/run/netns/../netns/p", 4, "CNI_NETNS")]
    {
        let output = node.call_with("ADD", &pod, "net1", &[("CNI_NETNS", namespace)]);
        assert!(output.error().to_string().contains(reported), "{output:?}");
        output.message(code);
        node.assert_clean();
    }
}

fn exhausted_socket_ids_are_reported(node: &mut TestNode) {
    let network = node.program_network_with(NETWORK, &port_types::memif_in_volume(), None);
    node.publish_with(network, "7-8".parse().unwrap());
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    node.add(&pod, "net2").result();
    assert_eq!(VppSnapshot::of(node.vpp()).socket_ids.keys().collect::<Vec<_>>(), [&7, &8]);
    let message = node.add(&pod, "net3").message(104);
    assert!(message.contains("--memif-socket-ids"), "{message}");
    node.del(&pod, "net1").assert_done();
    node.add(&pod, "net3").result();
    for interface in ["net2", "net3"] {
        node.del(&pod, interface).assert_done();
    }
    node.assert_clean();
}

fn files_at_the_socket_path_of_vpp_are_replaced_or_fail_their_own_pod(node: &mut TestNode) {
    fs::write("/run/bystander", "untouched").unwrap();
    for port in [port_types::memif_in_volume(), port_types::vhost_user_server()] {
        node.program_network_with(NETWORK, &port, None);
        let pod = node.pod("p");
        let socket = pod.volume.join("net1.sock");
        let leave: [&dyn Fn(); 3] =
            [&|| fs::write(&socket, "a file").unwrap(), &|| symlink("/run/bystander", &socket).unwrap(), &|| {
                assert!(Command::new("mkfifo").arg(&socket).status().unwrap().success());
            }];
        for leave in leave {
            leave();
            node.add(&pod, "net1").result();
            node.del(&pod, "net1").assert_done();
            node.assert_clean();
        }
        fs::create_dir(&socket).unwrap();
        assert!(node.add(&pod, "net1").message(102).contains("the pod occupies its path"));
        node.assert_clean();
        fs::remove_dir(&socket).unwrap();
        assert_eq!(fs::read_to_string("/run/bystander").unwrap(), "untouched");
    }
}

fn a_listener_of_the_pod_is_replaced(node: &mut TestNode) {
    for port in [port_types::memif_in_volume(), port_types::vhost_user_server()] {
        node.program_network_with(NETWORK, &port, None);
        let pod = node.pod("p");
        let listener = UnixListener::bind(pod.volume.join("net1.sock")).unwrap();
        listener.set_nonblocking(true).unwrap();
        node.add(&pod, "net1").result();
        assert!(listener.accept().is_err(), "VPP connected to the pod's program");
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    }
}
