//! Pods that the older userspace CNI attached, deleted by ours: what its file says goes, and nothing else.

use crate::support::engine::{TestEngine, on_each_engine};
use crate::support::old_state::Older;
use crate::support::vpp::{Shown, tag};
use crate::support::{NETWORK, TestNode, tools};
use nix::mount::{MsFlags, mount};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

on_each_engine! {
    its_ports_and_files_go_one_by_one_and_nothing_else_does,
    an_engine_that_is_down_keeps_the_file_and_the_next_del_takes_all,
    what_carries_a_mark_of_somebody_else_is_left_alone_and_told,
    a_configuration_that_add_refuses_is_deleted_with_its_addresses,
    a_link_that_a_pod_left_is_not_followed,
    a_mount_of_the_pods_volume_goes_with_the_last_interface,
    check_says_that_the_older_plugin_attached_it,
    a_file_that_cannot_be_read_is_enough,
}

mod of_vpp {
    use super::a_vhost_user_interface_goes_by_the_name_of_its_socket;

    crate::support::engine::on_each_vpp! {
        a_vhost_user_interface_goes_by_the_name_of_its_socket,
    }
}

/// Defects D3 to D6: a bridge that stays or goes wrongly, a file that is gone before it was used, `net10` for `net1`.
fn its_ports_and_files_go_one_by_one_and_nothing_else_does(node: &mut TestNode) {
    let (old_pod, our_pod) = (node.pod("p"), node.pod("q"));
    node.add(&our_pod, "net1").result();
    let our_port = node.ports(NETWORK).remove(0);
    let (first, tenth) = (Older::new(node, &old_pod, "net1"), Older::new(node, &old_pod, "net10"));
    if let TestEngine::Vpp(vpp) = &node.engine {
        // VPP was started again, and gave the index that was written down to a pod of ours.
        let index = Shown::of(vpp).interface(&our_port).sw_if_index;
        fs::write(&first.state, json!({"swIfIndex": index, "memifSocketId": 1}).to_string()).unwrap();
    }
    assert_eq!(node.ports(NETWORK).len(), 3);
    first.del(node).assert_done();
    first.assert_gone(node);
    assert!(tenth.has_port(node) && tenth.socket.exists() && tenth.state.exists());
    first.del(node).assert_done();
    tenth.del(node).assert_done();
    tenth.assert_gone(node);
    assert!(!tenth.socket.parent().unwrap().exists(), "its folder goes when it is empty");
    assert_eq!(node.ports(NETWORK), [our_port], "and so the bridge");
    node.del(&our_pod, "net1").assert_done();
    node.assert_clean();
}

fn an_engine_that_is_down_keeps_the_file_and_the_next_del_takes_all(node: &mut TestNode) {
    let older = Older::new(node, &node.pod("p"), "net1");
    node.engine.kill();
    let refused = older.del(node);
    refused.assert_soon();
    refused.message(11);
    assert!(older.state.exists() && older.socket.exists());
    node.engine.start_again();
    if matches!(node.engine, TestEngine::OpenVswitch(_)) {
        assert!(older.has_port(node), "the database remembers it");
    }
    older.del(node).assert_done();
    assert!(!older.state.exists() && !older.socket.exists());
    assert!(matches!(node.engine, TestEngine::Vpp(_)) || !older.has_port(node));
}

fn what_carries_a_mark_of_somebody_else_is_left_alone_and_told(node: &mut TestNode) {
    let older = Older::new(node, &node.pod("p"), "net1");
    match &node.engine {
        TestEngine::OpenVswitch(switch) => {
            switch.vsctl(&["set", "Port", &older.name, "external_ids:owner=somebody"]).unwrap();
        }
        TestEngine::Vpp(vpp) => {
            let index = Shown::of(vpp).memifs.keys().next().copied().unwrap();
            tag(vpp, index, "somebody's");
        }
    }
    let output = older.del(node);
    output.assert_done();
    assert!(output.stderr().contains("left alone") && output.stderr().contains("net1"), "{}", output.stderr());
    assert!(older.has_port(node) && older.state.exists());
}

/// The older plugin let Open vSwitch listen. Its definitions are refused today, and their pods have to go all the same.
fn a_configuration_that_add_refuses_is_deleted_with_its_addresses(node: &mut TestNode) {
    let pod = node.pod("p");
    let mut older = Older::new(node, &pod, "net1");
    for end in ["host", "container"] {
        older.configuration[end]["vhost"]["mode"] = "server".into();
        older.configuration[end]["netType"] = "interface".into();
    }
    let lease = Path::new("/run/leases/old-net/10.56.217.131");
    if tools().is_some() {
        older.configuration["ipam"] =
            json!({"type": "host-local", "subnet": "10.56.217.0/24", "dataDir": "/run/leases"});
        fs::create_dir_all(lease.parent().unwrap()).unwrap();
        fs::write(lease, format!("{}\r\nnet1", pod.container)).unwrap();
    }
    node.call("ADD", &node.pod("q"), "net1", &older.configuration).message(7);
    older.del(node).assert_done();
    older.assert_gone(node);
    assert!(!lease.exists());
}

fn a_link_that_a_pod_left_is_not_followed(node: &mut TestNode) {
    let mut older = Older::new(node, &node.pod("p"), "net1");
    let (shared, elsewhere) = (Path::new("/run/shared"), Path::new("/run/elsewhere"));
    for folder in [shared, elsewhere] {
        fs::create_dir(folder).unwrap();
    }
    let victim = elsewhere.join(&older.name);
    drop(UnixListener::bind(&victim).unwrap());
    symlink(elsewhere, shared.join(&older.pod.container[..12])).unwrap();
    older.configuration["sharedDir"] = "/run/shared/".into();
    older.del(node).assert_done();
    assert!(victim.exists());
    older.assert_gone(node);
}

/// Where the path of an `emptyDir` was too long for a socket, the older plugin mounted it elsewhere.
fn a_mount_of_the_pods_volume_goes_with_the_last_interface(node: &mut TestNode) {
    let pod = node.pod("p");
    let (first, second) = (Older::new(node, &pod, "net1"), Older::new(node, &pod, "net2"));
    let mounted = node.roots.legacy_root.join("var/lib/vhost_sockets").join(&pod.uid);
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

fn a_vhost_user_interface_goes_by_the_name_of_its_socket(node: &mut TestNode) {
    let pod = node.pod("p");
    let (first, tenth) = (Older::vhost_user_of_vpp(node, &pod, "net1"), Older::vhost_user_of_vpp(node, &pod, "net10"));
    assert!(first.has_port(node) && tenth.has_port(node));
    first.del(node).assert_done();
    first.assert_gone(node);
    assert!(tenth.has_port(node));
    tenth.del(node).assert_done();
    tenth.assert_gone(node);
}

fn check_says_that_the_older_plugin_attached_it(node: &mut TestNode) {
    let mut older = Older::new(node, &node.pod("p"), "net1");
    older.configuration["cniVersion"] = "0.4.0".into();
    older.configuration["prevResult"] = json!({"cniVersion": "0.4.0", "interfaces": [], "ips": []});
    let message = node.call("CHECK", &older.pod, "net1", &older.configuration).message(106);
    assert!(message.contains("the older userspace CNI attached it"), "{message}");
    older.del(node).assert_done();
}

fn a_file_that_cannot_be_read_is_enough(node: &mut TestNode) {
    let older = Older::new(node, &node.pod("p"), "net1");
    fs::write(&older.state, "{").unwrap();
    older.del(node).assert_done();
    older.assert_gone(node);
}
