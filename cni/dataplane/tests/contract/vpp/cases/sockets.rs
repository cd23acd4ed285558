//! Sockets of memifs and of vhost-user, and the ids of the former.

use crate::switch::Switch;
use crate::values::{Values, apply, attachment, bridge, converge, create_bridge, create_port, observe, port_name};
use crate::vpp::switch::{SOCKET_IDS, VppSwitch};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use usnet_crds::{NodeNetwork, SocketRole};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::memif::MemifSocket;
use usnet_dataplane::plan::Op;
use usnet_dataplane::port::{AttachedPort, PortBackend, SocketPath};
use usnet_dataplane::vpp::Vpp;

const AMPLE: Duration = Duration::from_secs(10);

fn create_with(switch: &VppSwitch, network: &NodeNetwork, backend: PortBackend) -> Op {
    let port = AttachedPort { backend, ..switch.port("c1", network) };
    create_port(&network.name, &attachment("c1"), &port)
}

/// A path in this directory with this many bytes.
fn path_of(bytes: usize, folder: &Path) -> PathBuf {
    let rest = bytes - folder.as_os_str().len() - 1;
    folder.join("s".repeat(rest))
}

pub(crate) fn the_longest_paths_are_served_under_their_whole_name(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let folder = switch.volume("c1");
    let vhost_user = |bytes| {
        let socket = SocketPath::try_from(path_of(bytes, &folder)).expect("107 bytes");
        PortBackend::VhostUser { socket, engine_role: SocketRole::Server }
    };
    let memif = PortBackend::memif(MemifSocket::file(path_of(106, &folder)).expect("106 bytes"));
    for backend in [memif, vhost_user(106), vhost_user(107)] {
        let operations = [create_bridge(&blue), create_with(switch, &blue, backend.clone())];
        assert_eq!(apply(&mut engine, &operations), [Ok(()), Ok(())], "{backend:?}");
        let socket = backend.socket_file().expect("a file");
        assert!(socket.exists(), "{}", socket.display());
        let observed = observe(&mut engine);
        assert_eq!(observed.bridges[bridge(&blue)].ports[&port_name("c1")].backend.as_ref(), Some(&backend));
        converge(&mut engine, &Desired::default());
    }
    assert!(MemifSocket::file(path_of(107, &folder)).is_err());
    assert!(SocketPath::try_from(path_of(108, &folder)).is_err());
}

/// VPP's reference count of a socket id is wrong after it failed to create the first memif on it.
pub(crate) fn a_missing_volume_is_an_error_and_leaves_nothing(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
    let [create, other] = ["c1", "c2"].map(|container| switch.create_port(container, &blue));
    let sockets = switch.other_client().sockets();
    for _ in 0..2 {
        fs::remove_dir_all(switch.vpp().folder().join("c1")).expect("its volume");
        let results = apply(&mut engine, &[create.clone(), other.clone()]);
        let Err(OpError::SocketUnusable { what, reason }) = &results[0] else { panic!("{results:?}") };
        assert!(what.contains(port_name("c1").as_str()) && reason.contains("memif"), "{what}: {reason}");
        assert_eq!(results[1], Ok(()));
        assert_eq!(apply(&mut engine, &[switch.remove_port_op("c2", &blue)]), [Ok(())]);
        assert_eq!(switch.other_client().memifs(), []);
        assert_eq!(switch.other_client().sockets(), sockets);
        let observed = observe(&mut engine);
        assert!(
            observed.unbridged_ports.is_empty() && observed.bridges[bridge(&blue)].ports.is_empty(),
            "{observed:?}"
        );
        // The volume is there again.
        let _folder = switch.volume("c1");
        assert_eq!(apply(&mut engine, std::slice::from_ref(&create)), [Ok(())]);
        assert_eq!(apply(&mut engine, &[switch.remove_port_op("c1", &blue)]), [Ok(())]);
        assert_eq!(switch.other_client().sockets(), sockets);
    }
}

pub(crate) fn foreign_ids_are_not_used(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    let ([first, last], folder) = (SOCKET_IDS, switch.volume("others"));
    let name = |file: &str| folder.join(file).display().to_string();
    // One outside of the own range with a memif, and some in it: other clients do not know the
    // range.
    switch.other_client().add_socket(7, &name("a.sock"));
    let index = switch.other_client().add_memif(7);
    for id in first..=last - 2 {
        switch.other_client().add_socket(id, &name(&format!("{id}.sock")));
    }
    let before = switch.other_client().sockets();
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
    converge(&mut engine, &desired);
    let after = switch.other_client().sockets();
    let own: Vec<_> = after.keys().filter(|id| !before.contains_key(*id)).copied().collect();
    assert_eq!(own, [last - 1, last]);

    let results = apply(&mut engine, &[switch.create_port("c3", &blue)]);
    let count = usize::try_from(last - first + 1).expect("a small number");
    assert_eq!(results, [Err(OpError::NoSocketId { count })]);
    converge(&mut engine, &Desired::default());
    assert_eq!(switch.other_client().sockets(), before);
    assert!(switch.other_client().memifs().iter().any(|memif| memif.sw_if_index == index));
}

/// A port that was created with another range of ids is found nevertheless.
pub(crate) fn another_range_of_ids_changes_nothing_that_is_there(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    converge(&mut switch.engine(), &desired);
    let identity = switch.port_identity(&port_name("c1"));
    let mut engine = Vpp::new(switch.client(AMPLE), "900-999".parse().expect("a range"));
    assert_eq!(converge(&mut engine, &desired), []);
    assert_eq!(switch.port_identity(&port_name("c1")), identity);
    converge(&mut engine, &Desired::default());
    assert!(switch.other_client().memifs().is_empty());
}
