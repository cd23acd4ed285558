//! Pods that Intel's userspace CNI attached, deleted by usnet: exactly what its state file
//! describes is removed.

use crate::support::engine::{TestEngine, on_each_engine};
use crate::support::legacy::state::LegacyAttachment;
use crate::support::tools::tool;
use crate::support::vpp::{VppSnapshot, tag};
use crate::support::{NETWORK, TestNode};
use nix::mount::{MsFlags, mount};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

on_each_engine! {
    ports_and_files_are_removed_one_by_one_and_nothing_else_is,
    an_unreachable_engine_keeps_the_file_and_the_next_del_removes_all,
    a_port_with_a_foreign_tag_is_kept_and_reported,
    del_of_a_configuration_that_add_rejects_releases_addresses,
    a_link_created_by_a_pod_is_not_followed,
    the_volume_mount_is_removed_with_the_last_interface,
    check_reports_that_the_legacy_plugin_attached_it,
    del_works_with_an_unreadable_state_file,
}

mod vpp_only {
    use super::a_vhost_user_interface_is_found_by_its_socket_name;

    crate::support::engine::on_each_vpp! {
        a_vhost_user_interface_is_found_by_its_socket_name,
    }
}

/// Defects D3 to D6: bridges that are kept or deleted wrongly, a state file that is deleted too
/// early, `net10` mistaken for `net1`.
fn ports_and_files_are_removed_one_by_one_and_nothing_else_is(node: &mut TestNode) {
    let (old_pod, our_pod) = (node.pod("p"), node.pod("q"));
    node.add(&our_pod, "net1").result();
    let our_port = node.ports(NETWORK).remove(0);
    let (first, tenth) =
        (LegacyAttachment::new(node, &old_pod, "net1"), LegacyAttachment::new(node, &old_pod, "net10"));
    if let TestEngine::Vpp(vpp) = &node.engine {
        // VPP was restarted, and assigned the recorded index to the interface of another pod.
        let index = VppSnapshot::of(vpp).interface(&our_port).sw_if_index;
        fs::write(&first.state, json!({"swIfIndex": index, "memifSocketId": 1}).to_string()).unwrap();
    }
    assert_eq!(node.ports(NETWORK).len(), 3);
    first.del(node).assert_done();
    first.assert_gone(node);
    assert!(tenth.has_port(node) && tenth.socket.exists() && tenth.state.exists());
    first.del(node).assert_done();
    tenth.del(node).assert_done();
    tenth.assert_gone(node);
    assert!(!tenth.socket.parent().unwrap().exists(), "its empty folder is removed");
    assert_eq!(node.ports(NETWORK), [our_port], "and so the bridge");
    node.del(&our_pod, "net1").assert_done();
    node.assert_clean();
}

fn an_unreachable_engine_keeps_the_file_and_the_next_del_removes_all(node: &mut TestNode) {
    let attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    node.engine.kill();
    let rejected = attachment.del(node);
    rejected.assert_in_time();
    rejected.message(11);
    assert!(attachment.state.exists() && attachment.socket.exists());
    node.engine.start_again();
    if matches!(node.engine, TestEngine::OpenVswitch(_)) {
        assert!(attachment.has_port(node), "the database remembers it");
    }
    attachment.del(node).assert_done();
    assert!(!attachment.state.exists() && !attachment.socket.exists());
    assert!(matches!(node.engine, TestEngine::Vpp(_)) || !attachment.has_port(node));
}

fn a_port_with_a_foreign_tag_is_kept_and_reported(node: &mut TestNode) {
    let attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    match &node.engine {
        TestEngine::OpenVswitch(switch) => {
            switch.vsctl(&["set", "Port", &attachment.name, "external_ids:owner=other"]).unwrap();
        }
        TestEngine::Vpp(vpp) => {
            let index = VppSnapshot::of(vpp).memifs.keys().next().copied().unwrap();
            tag(vpp, index, "other");
        }
    }
    let output = attachment.del(node);
    output.assert_done();
    assert!(output.stderr().contains("was not changed") && output.stderr().contains("net1"), "{}", output.stderr());
    assert!(attachment.has_port(node) && attachment.state.exists());
}

/// With the legacy plugin Open vSwitch could listen. ADD rejects such configurations, but DEL of
/// their pods has to work.
fn del_of_a_configuration_that_add_rejects_releases_addresses(node: &mut TestNode) {
    let pod = node.pod("p");
    let mut attachment = LegacyAttachment::new(node, &pod, "net1");
    for end in ["host", "container"] {
        attachment.configuration[end]["vhost"]["mode"] = "server".into();
        attachment.configuration[end]["netType"] = "interface".into();
    }
    let lease = Path::new("/run/leases/old-net/10.56.217.131");
    if tool("host-local").is_some() {
        attachment.configuration["ipam"] =
            json!({"type": "host-local", "subnet": "10.56.217.0/24", "dataDir": "/run/leases"});
        fs::create_dir_all(lease.parent().unwrap()).unwrap();
        fs::write(lease, format!("{}\r\nnet1", pod.container)).unwrap();
    }
    node.call("ADD", &node.pod("q"), "net1", &attachment.configuration).message(7);
    attachment.del(node).assert_done();
    attachment.assert_gone(node);
    assert!(!lease.exists());
}

fn a_link_created_by_a_pod_is_not_followed(node: &mut TestNode) {
    let mut attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    let (shared, elsewhere) = (Path::new("/run/shared"), Path::new("/run/elsewhere"));
    for folder in [shared, elsewhere] {
        fs::create_dir(folder).unwrap();
    }
    let victim = elsewhere.join(&attachment.name);
    drop(UnixListener::bind(&victim).unwrap());
    symlink(elsewhere, shared.join(&attachment.pod.container[..12])).unwrap();
    attachment.configuration["sharedDir"] = "/run/shared/".into();
    attachment.del(node).assert_done();
    assert!(victim.exists());
    attachment.assert_gone(node);
}

/// If the path of an `emptyDir` was too long for a socket, the legacy plugin mounted it elsewhere.
fn the_volume_mount_is_removed_with_the_last_interface(node: &mut TestNode) {
    let pod = node.pod("p");
    let (first, second) = (LegacyAttachment::new(node, &pod, "net1"), LegacyAttachment::new(node, &pod, "net2"));
    let mounted = node.paths.legacy_root.join("var/lib/vhost_sockets").join(&pod.uid);
    fs::create_dir_all(&mounted).unwrap();
    mount(Some(&pod.volume), &mounted, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
    fs::write(pod.volume.join("the-pods"), "").unwrap();
    first.del(node).assert_done();
    assert!(mounted.join("the-pods").exists(), "net2 needs it");
    second.del(node).assert_done();
    assert!(!mounted.exists() && pod.volume.join("the-pods").exists());
    first.assert_gone(node);
    second.assert_gone(node);
}

fn a_vhost_user_interface_is_found_by_its_socket_name(node: &mut TestNode) {
    let pod = node.pod("p");
    let (first, tenth) = (
        LegacyAttachment::vhost_user_of_vpp(node, &pod, "net1"),
        LegacyAttachment::vhost_user_of_vpp(node, &pod, "net10"),
    );
    assert!(first.has_port(node) && tenth.has_port(node));
    first.del(node).assert_done();
    first.assert_gone(node);
    assert!(tenth.has_port(node));
    tenth.del(node).assert_done();
    tenth.assert_gone(node);
}

fn check_reports_that_the_legacy_plugin_attached_it(node: &mut TestNode) {
    let mut attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    attachment.configuration["cniVersion"] = "0.4.0".into();
    attachment.configuration["prevResult"] = json!({"cniVersion": "0.4.0", "interfaces": [], "ips": []});
    let message = node.call("CHECK", &attachment.pod, "net1", &attachment.configuration).message(106);
    assert!(message.contains("Intel's Userspace CNI attached it"), "{message}");
    attachment.del(node).assert_done();
}

fn del_works_with_an_unreadable_state_file(node: &mut TestNode) {
    let attachment = LegacyAttachment::new(node, &node.pod("p"), "net1");
    fs::write(&attachment.state, "{").unwrap();
    attachment.del(node).assert_done();
    attachment.assert_gone(node);
}
