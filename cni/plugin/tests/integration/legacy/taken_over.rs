//! Pods that Intel's userspace CNI attached and that the agent took over: they have a record, and
//! their files are where that plugin put them.

use crate::support::engine::{TestEngine, on_each_engine};
use crate::support::legacy::state::LegacyAttachment;
use crate::support::tools::tool;
use crate::support::{NETWORK, TestNode};
use nix::mount::{MsFlags, mount};
use serde_json::json;
use std::fs;
use std::path::Path;
use usnet_crds::SocketRole;
use usnet_dataplane::attachment::{AttachmentId, Pod, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocket;
use usnet_dataplane::network_namespace::inode;
use usnet_dataplane::port::{AttachedPort, PortBackend, PortName};
use usnet_dataplane::testing::{network_with, record_with};

on_each_engine! {
    del_leaves_nothing_of_a_port_without_a_tag_and_none_of_others_is_touched,
    del_releases_the_addresses_that_the_legacy_plugin_requested,
    del_without_the_engine_leaves_the_port_to_the_agent_and_nothing_else,
    del_unmounts_the_volume_with_the_last_interface,
    check_compares_no_files_of_usnet,
}

/// The record that the agent writes.
fn record(node: &TestNode, attachment: &LegacyAttachment) -> Record {
    let id = AttachmentId {
        container: attachment.pod.container.parse().unwrap(),
        interface: attachment.interface.parse().unwrap(),
    };
    let socket = attachment.socket.clone();
    let (name, backend) = match &node.engine {
        TestEngine::OpenVswitch(_) => {
            let socket = socket.try_into().unwrap();
            let backend = PortBackend::VhostUser { socket, engine_role: SocketRole::Client };
            (PortName::observed(&attachment.name), backend)
        }
        TestEngine::Vpp(_) => (PortName::of(&id), PortBackend::memif(MemifSocket::file(socket).unwrap())),
    };
    let standard = record_with("c1", &network_with(node.engine.kind(), NETWORK), backend);
    Record {
        engine_socket: node.engine.socket(),
        port: AttachedPort { name, ..standard.port },
        pod: Pod {
            namespace: attachment.pod.namespace.clone(),
            name: attachment.pod.name.clone(),
            uid: attachment.pod.uid.parse().unwrap(),
        },
        network_namespace: node.network_namespace().to_owned(),
        network_namespace_inode: inode(node.network_namespace()),
        configuration_name: Some("old-net".to_owned()),
        taken_over: true,
        id,
        ..standard
    }
}

fn write(node: &TestNode, record: &Record) {
    Journal::open(&node.paths).unwrap().lock(&record.id).unwrap().write(record).unwrap();
}

fn taken_over(node: &TestNode, pod: &str, interface: &'static str) -> LegacyAttachment {
    let attachment = LegacyAttachment::new(node, &node.pod(pod), interface);
    write(node, &record(node, &attachment));
    attachment
}

fn del_leaves_nothing_of_a_port_without_a_tag_and_none_of_others_is_touched(node: &mut TestNode) {
    let (first, other) = (taken_over(node, "p", "net1"), taken_over(node, "q", "net1"));
    first.del(node).assert_done();
    first.assert_gone(node);
    assert!(!first.socket.parent().unwrap().exists());
    assert!(other.has_port(node) && other.socket.exists() && other.state.exists());
    first.del(node).assert_done();
    other.del(node).assert_done();
    other.assert_gone(node);
    node.assert_clean();
}

fn del_releases_the_addresses_that_the_legacy_plugin_requested(node: &mut TestNode) {
    if tool("host-local").is_none() {
        return;
    }
    let attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    let lease = Path::new("/run/leases/old-net/10.56.217.131");
    fs::create_dir_all(lease.parent().unwrap()).unwrap();
    fs::write(lease, format!("{}\r\nnet1", attachment.pod.container)).unwrap();
    let ipam = json!({"type": "host-local", "subnet": "10.56.217.0/24", "dataDir": "/run/leases"});
    let ipam = json!({"cniVersion": "0.3.1", "name": "old-net", "type": "userspace", "ipam": ipam});
    write(node, &Record { ipam: Some(ipam), ..record(node, &attachment) });
    attachment.del(node).assert_done();
    assert!(!lease.exists());
    attachment.assert_gone(node);
    node.assert_clean();
}

fn del_without_the_engine_leaves_the_port_to_the_agent_and_nothing_else(node: &mut TestNode) {
    let attachment = taken_over(node, "p", "net1");
    node.engine.kill();
    let output = attachment.del(node);
    output.assert_done();
    assert!(output.stderr().contains("the agent removes the port later"), "{}", output.stderr());
    assert!(!attachment.socket.exists() && !attachment.state.exists());
    assert_eq!(node.records().len(), 1);
    node.engine.start_again();
    attachment.del(node).assert_done();
    assert_eq!(node.records().len(), 0);
    assert!(!attachment.has_port(node));
}

fn del_unmounts_the_volume_with_the_last_interface(node: &mut TestNode) {
    let (first, second) = (taken_over(node, "p", "net1"), taken_over(node, "p", "net2"));
    let mounted = node.paths.legacy_root.join("var/lib/vhost_sockets").join(&first.pod.uid);
    fs::create_dir_all(&mounted).unwrap();
    mount(Some(&first.pod.volume), &mounted, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
    fs::write(first.pod.volume.join("the-pods"), "").unwrap();
    first.del(node).assert_done();
    assert!(mounted.join("the-pods").exists(), "net2 needs it");
    second.del(node).assert_done();
    assert!(!mounted.exists() && first.pod.volume.join("the-pods").exists());
    node.assert_clean();
}

fn check_compares_no_files_of_usnet(node: &mut TestNode) {
    let mut attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    write(node, &Record { addresses: Vec::new(), ..record(node, &attachment) });
    attachment.configuration["cniVersion"] = "0.4.0".into();
    let interfaces = json!([{"name": "net1", "sandbox": node.network_namespace()}]);
    attachment.configuration["prevResult"] = json!({"cniVersion": "0.4.0", "interfaces": interfaces, "ips": []});
    let message = node.call("CHECK", &attachment.pod, "net1", &attachment.configuration).message(106);
    let untagged = "differs from its ADD result: the engine has no port for this attachment";
    assert!(message.contains(untagged) && !message.contains("; the "), "the agent has not tagged it yet: {message}");
    attachment.del(node).assert_done();
}
