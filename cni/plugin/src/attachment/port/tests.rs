use super::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use usnet_crds::{EngineKind, MemifSecretKind, MemifSocketKind, NodeNetwork, PortType, SocketRole};
use usnet_crds::{Memif, Port, RateLimit, VhostUser};
use usnet_dataplane::attachment::{AttachmentId, Pod};
use usnet_dataplane::port::{AttachedPort, PortBackend};
use usnet_dataplane::testing::network_with;

fn network(engine: EngineKind, port: Port) -> NodeNetwork {
    NodeNetwork { port, ..network_with(engine, "blue") }
}

fn pod() -> Pod {
    Pod { namespace: "default".into(), name: "c1".into(), uid: "0-1".parse().unwrap() }
}

fn memif(socket: MemifSocketKind, secret: MemifSecretKind) -> Port {
    Port { port_type: PortType::Memif, memif: Memif { socket, secret, ..Memif::default() }, ..Port::default() }
}

fn created(network: &NodeNetwork, interface: &str, network_namespace: &str) -> Result<AttachedPort, PortError> {
    let directory = Path::new("/run/usnet/ports/0b6e");
    let socket_name = &format!("{interface}.sock");
    let location = SocketLocation { directory, socket_name, network_namespace: Path::new(network_namespace) };
    port(network, &format!("c1.{interface}").parse().unwrap(), &pod(), RateLimit::default(), location)
}

const NAMESPACE: &str = "/run/netns/p";

#[test]
fn a_memif_is_in_the_volume_or_in_the_network_namespace() {
    let volume = network(EngineKind::Vpp, memif(MemifSocketKind::Volume, MemifSecretKind::None));
    let port = created(&volume, "net1", NAMESPACE).unwrap();
    assert_eq!(port.backend.socket_file(), Some(Path::new("/run/usnet/ports/0b6e/net1.sock")));
    assert!(needs_volume(&port) && port.secret.is_none());

    let inside = network(EngineKind::Vpp, memif(MemifSocketKind::Abstract, MemifSecretKind::None));
    let port = created(&inside, "net1", NAMESPACE).unwrap();
    let PortBackend::Memif { socket, .. } = &port.backend else { panic!("{port:?}") };
    assert_eq!(socket.to_string(), "abstract:net1,netns_name=/run/netns/p");
    assert!(!needs_volume(&port));

    let secret = network(EngineKind::Vpp, memif(MemifSocketKind::Abstract, MemifSecretKind::Generated));
    assert!(needs_volume(&created(&secret, "net1", NAMESPACE).unwrap()), "it is in the description in the volume");
}

#[test]
fn secrets_are_long_printable_and_unique() {
    let network = network(EngineKind::Vpp, memif(MemifSocketKind::Volume, MemifSecretKind::Generated));
    let ports: Vec<_> = (0..100).map(|_| created(&network, "net1", NAMESPACE).unwrap()).collect();
    let secrets: BTreeSet<_> = ports.iter().map(|port| port.secret.as_ref().unwrap().reveal()).collect();
    assert_eq!(secrets.len(), 100);
    // No characters that DPDK's devargs would parse.
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    assert!(secrets.iter().all(|secret| secret.len() == 23 && secret.chars().all(allowed)), "{secrets:?}");
    assert!(
        ports
            .iter()
            .zip(&secrets)
            .all(|(port, _)| !format!("{port:?}").contains(port.secret.as_ref().unwrap().reveal()))
    );
}

#[test]
fn a_network_namespace_that_vpp_would_resolve_differently_is_rejected() {
    let network = network(EngineKind::Vpp, memif(MemifSocketKind::Abstract, MemifSecretKind::None));
    for bad in ["", "netns/p", "p", "/run/netns/../p", "/run/./p", "/proc/self/.."] {
        let rejected = created(&network, "net1", bad);
        assert!(matches!(rejected, Err(PortError::NetworkNamespace { .. })), "{bad}: {rejected:?}");
    }
    for bad in ["/run/netns/a,netns_pid=1", "/run/net ns"] {
        assert!(matches!(created(&network, "net1", bad), Err(PortError::MemifSocket(_))), "{bad}");
    }
    assert!(created(&network, "net1", "/proc/71/task/71/ns/net").is_ok());
}

#[test]
fn names_that_vpp_would_reject_are_rejected() {
    let memif_network = network(EngineKind::Vpp, memif(MemifSocketKind::Volume, MemifSecretKind::None));
    assert!(matches!(created(&memif_network, "net@1", NAMESPACE), Err(PortError::MemifSocket(_))));
    let location = SocketLocation {
        directory: Path::new("/run/usnet/ports/0b6e"),
        socket_name: "net1.sock",
        network_namespace: Path::new(NAMESPACE),
    };
    let long: AttachmentId = format!("{}.net1", "X".repeat(60)).parse().unwrap();
    assert!(matches!(port(&memif_network, &long, &pod(), RateLimit::default(), location), Err(PortError::Tag(_))));
    let usual = format!("{}.fifteen-letters", "0123456789abcdef".repeat(4)).parse().unwrap();
    assert!(port(&memif_network, &usual, &pod(), RateLimit::default(), location).is_ok());
    // Open vSwitch has no such limits.
    let open_vswitch = network(EngineKind::OpenVswitch, Port::default());
    assert!(port(&open_vswitch, &long, &pod(), RateLimit::default(), location).is_ok());
}

#[test]
fn socket_paths_are_limited_to_the_engines_length() {
    let at = |network: &NodeNetwork, length: usize| {
        let directory = PathBuf::from(format!("/{}", "d".repeat(length - 2 - "net1.sock".len())));
        port(
            network,
            &"c1.net1".parse().unwrap(),
            &pod(),
            RateLimit::default(),
            SocketLocation { directory: &directory, socket_name: "net1.sock", network_namespace: Path::new(NAMESPACE) },
        )
    };
    let memif_network = network(EngineKind::Vpp, memif(MemifSocketKind::Volume, MemifSecretKind::None));
    assert!(at(&memif_network, 106).is_ok());
    assert!(matches!(at(&memif_network, 107), Err(PortError::MemifSocket(_))));
    for engine in EngineKind::ALL {
        let vhost = network(engine, Port::default());
        assert!(at(&vhost, 107).is_ok());
        assert!(matches!(at(&vhost, 108), Err(PortError::SocketPath(_))));
    }
}

#[test]
fn port_types_that_an_engine_lacks_are_rejected() {
    let port = memif(MemifSocketKind::Volume, MemifSecretKind::None);
    let rejected = created(&network(EngineKind::OpenVswitch, port.clone()), "net1", NAMESPACE).unwrap_err();
    assert!(rejected.to_string().contains("spec.port of UserspaceNetwork blue"), "{rejected}");
    assert!(created(&network(EngineKind::Vpp, port), "net1", NAMESPACE).is_ok());
    for engine in EngineKind::ALL {
        let server = Port { vhost_user: VhostUser { engine_role: SocketRole::Server }, ..Port::default() };
        assert!(created(&network(engine, server), "net1", NAMESPACE).is_ok(), "{engine}");
    }
}
