//! The cases with vhost-user ports on which the switch listens, and what is specific to them.

use super::{Daemons, Kind, OneSwitch};
use crate::switch::{Switch, contract};
use crate::values::{Values, converge, port_name};
use std::fs;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use usnet_crds::SocketRole;
use usnet_dataplane::ovs::{ServerSocket, take_again};

fn start() -> Option<OneSwitch> {
    let daemons = Daemons::builder().dpdk(true).dpdk_memory(64).start().expect("Open vSwitch");
    Some(OneSwitch { daemons, kind: Kind::VhostUser(SocketRole::Server) })
}

contract!(start();
    settings::limits_are_set_changed_put_back_and_removed,
    creation::desired_objects_are_created_and_deleted,
    creation::a_second_apply_changes_nothing,
    creation::settings_change_in_place,
    creation::several_attach_at_once,
    drift::objects_deleted_by_others_are_recreated,
    drift::a_port_moved_by_others_is_moved_back,
    refusals::a_failing_operation_does_not_block_the_others,
);

/// A switch that is killed leaves its sockets, and starts no port whose socket exists: none does.
#[test]
fn sockets_outlive_a_switch_that_is_killed_at_the_place_of_the_pod() {
    let mut switch = start().expect("Open vSwitch");
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
    converge(&mut switch.engine(), &desired);
    let run = switch.socket().parent().expect("a folder").to_owned();
    let sockets = ["c1", "c2"].map(|container| ServerSocket::new(switch.socket(), &port_name(container)));
    for socket in &sockets {
        assert!(socket.take("net1.sock").unwrap());
        assert!(UnixStream::connect(socket.folder().join("net1.sock")).is_ok());
    }
    switch.kill_vswitchd().expect("a running switch");
    assert!(sockets.iter().all(|socket| UnixStream::connect(socket.folder().join("net1.sock")).is_err()));
    switch.start_vswitchd().expect("a switch");
    let deadline = Instant::now() + Duration::from_secs(20);
    for socket in &sockets {
        while UnixStream::connect(socket.folder().join("net1.sock")).is_err() {
            assert!(Instant::now() < deadline, "{}", socket.folder().display());
            assert!(take_again(&run).is_empty());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // Nothing of the ports is beside the control sockets.
    let names = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> =
        names.filter(|name| sockets.iter().any(|socket| socket.created().ends_with(name))).collect();
    assert_eq!(left, Vec::<String>::new());
}
