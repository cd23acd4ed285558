//! Names and paths of VPP's maximum length, and one byte longer, which are rejected before any
//! change.

use crate::support::engine::on_each_vpp;
use crate::support::{NETWORK, TestNode, port_types};
use std::os::unix::fs::symlink;

on_each_vpp! {
    the_longest_names_fit,
    a_container_id_too_long_for_a_tag_is_rejected_before_any_change,
    socket_paths_that_vpp_would_truncate_are_rejected,
    abstract_socket_names_that_vpp_would_reject_are_rejected,
}

/// With a container id of 64 hexadecimal digits the tag has VPP's maximum length.
fn the_longest_names_fit(node: &mut TestNode) {
    let interface = "fifteen-letters";
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let mut pod = node.pod("p");
        for digit in ['0', 'f'] {
            pod.container = digit.to_string().repeat(64);
            node.add(&pod, interface).result();
            let [tag] = node.ports(NETWORK).try_into().unwrap();
            assert_eq!(tag.len(), 63, "{tag}");
            node.del(&pod, interface).assert_done();
            node.assert_clean();
        }
    }
}

fn a_container_id_too_long_for_a_tag_is_rejected_before_any_change(node: &mut TestNode) {
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let mut pod = node.pod("p");
        pod.container = "X".repeat(80);
        let output = node.add(&pod, "net1");
        assert!(output.message(4).contains("CNI_CONTAINERID"), "{output:?}");
        assert!(output.error()["details"].as_str().unwrap().contains("64 hexadecimal digits"), "{output:?}");
        node.assert_clean();
        node.del(&pod, "net1").assert_done();
    }
}

/// Moves the node's files to a path of such a length that the path of the pod's socket has so many
/// bytes.
pub(crate) fn lengthen(node: &mut TestNode, bytes: usize) {
    node.paths.run = "/run/".into();
    let socket = node.pod("p").directory.join("net1.sock");
    let folder = "d".repeat(bytes - socket.as_os_str().len() - 1);
    node.paths.run = format!("/run/{folder}").into();
    assert_eq!(node.pod("p").directory.join("net1.sock").as_os_str().len(), bytes);
}

fn socket_paths_that_vpp_would_truncate_are_rejected(node: &mut TestNode) {
    for (port, longest) in
        [(port_types::memif_in_volume(), 106), (port_types::vhost_user(), 107), (port_types::vhost_user_server(), 107)]
    {
        for bytes in [longest - 1, longest] {
            lengthen(node, bytes);
            node.program_network_with(NETWORK, &port, None);
            let pod = node.pod("p");
            node.add(&pod, "net1").result();
            assert_eq!(node.engine.sockets(&node.bridge()), [pod.directory.join("net1.sock").to_str().unwrap()]);
            assert_eq!(pod.volume.join("net1.sock").exists(), port != port_types::vhost_user());
            node.del(&pod, "net1").assert_done();
            node.assert_clean();
        }
        lengthen(node, longest + 1);
        node.program_network_with(NETWORK, &port, None);
        let message = node.add(&node.pod("p"), "net1").message(5);
        assert!(message.contains(&format!("at most {longest}")) && message.contains("run directory"), "{message}");
        node.assert_clean();
    }
}

fn abstract_socket_names_that_vpp_would_reject_are_rejected(node: &mut TestNode) {
    const LONGEST: usize = 106;
    node.program_network_with(NETWORK, &port_types::memif_in_namespace(), None);
    let pod = node.pod("p");
    for bytes in [LONGEST, LONGEST + 1] {
        let beginning = "abstract:net1,netns_name=/run/netns/";
        let path = format!("/run/netns/{}", "n".repeat(bytes - beginning.len()));
        symlink(node.network_namespace(), &path).unwrap();
        let output = node.call_with("ADD", &pod, "net1", &[("CNI_NETNS", &path)]);
        if bytes == LONGEST {
            output.result();
            assert_eq!(node.engine.sockets(&node.bridge()), [format!("abstract:net1,netns_name={path}")]);
        } else {
            assert!(output.message(5).contains("at most 106"), "{output:?}");
        }
        node.call_with("DEL", &pod, "net1", &[("CNI_NETNS", &path)]).assert_done();
        node.assert_clean();
    }
}
