//! The networks that this node offers to resource claims, and their state. No IO.

use super::api::{DeviceHealth, DeviceIdentifier, HealthStatus};
use crate::reconcile::publish::Files;
use usnet_crds::{DeviceCount, EngineKind, Mtu, NetworkName, NodeNetwork, Phase, PortType};
use usnet_dataplane::network_file::NetworkFile;

/// A network of the node with resource claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offered {
    pub(super) name: NetworkName,
    pub(super) engine: EngineKind,
    pub(super) port_type: PortType,
    pub(super) mtu: Mtu,
    pub(super) ports: DeviceCount,
    /// The NUMA node of the network's NIC.
    pub(super) numa_node: Option<u32>,
    pub(super) state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Available,
    /// The network is being deleted, or no longer selects the node.
    Draining,
    /// The network cannot be used now; the text says why.
    Unavailable(String),
}

/// Returns the networks with resource claims, with the state that their network files give.
pub(super) fn offered<'a>(networks: impl Iterator<Item = &'a NodeNetwork>, published: &Files) -> Vec<Offered> {
    let offer = |network: &NodeNetwork| {
        Some(Offered {
            ports: network.resource_claims?.ports,
            numa_node: published.get(&network.name).and_then(NetworkFile::numa_node),
            state: state(network, published.get(&network.name)),
            name: network.name.clone(),
            engine: network.engine,
            port_type: network.port.port_type,
            mtu: network.bridge.mtu,
        })
    };
    networks.filter_map(offer).collect()
}

fn state(network: &NodeNetwork, file: Option<&NetworkFile>) -> State {
    if network.phase == Phase::Draining {
        return State::Draining;
    }
    match file {
        Some(NetworkFile::Programmed(programmed)) if programmed.network.phase == Phase::Active => State::Available,
        Some(NetworkFile::Unavailable { reason, message, .. }) => State::Unavailable(format!("{reason}: {message}")),
        Some(NetworkFile::Programmed(_) | NetworkFile::Draining { .. }) | None => {
            State::Unavailable("the network is not programmed on this node yet".to_owned())
        }
    }
}

/// The health of their devices, with the names of devices that are shared: Kubernetes releases
/// without shared devices do not read health either.
pub(super) fn health(offered: &[Offered], node: &str) -> Vec<DeviceHealth> {
    let device = |network: &Offered| {
        let (health, message) = match &network.state {
            State::Available | State::Draining => (HealthStatus::Healthy, String::new()),
            State::Unavailable(why) => (HealthStatus::Unhealthy, why.clone()),
        };
        let device = DeviceIdentifier { pool_name: node.to_owned(), device_name: network.name.to_string() };
        DeviceHealth { device: Some(device), health: health.into(), message, ..DeviceHealth::default() }
    };
    offered.iter().map(device).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testing::network;
    use usnet_crds::ResourceClaims;
    use usnet_dataplane::memif::MemifSocketIds;
    use usnet_dataplane::network_file::ProgrammedNetwork;

    fn claimable(name: &str) -> NodeNetwork {
        NodeNetwork { resource_claims: Some(ResourceClaims::try_from(2).unwrap()), ..network(name) }
    }

    fn programmed(network: &NodeNetwork) -> Files {
        let file = NetworkFile::Programmed(ProgrammedNetwork {
            version: ProgrammedNetwork::VERSION,
            network: network.clone().into(),
            engine_socket: "/run/x".into(),
            epoch: 1,
            memif_socket_ids: MemifSocketIds::default(),
            checksum_offload: false,
            numa_node: None,
        });
        [(network.name.clone(), file)].into()
    }

    /// A network that pods may use.
    pub(in crate::claims) fn available(name: &str) -> Offered {
        let network = claimable(name);
        offered([&network].into_iter(), &programmed(&network)).remove(0)
    }

    #[test]
    fn only_networks_with_resource_claims_are_offered() {
        let (blue, red) = (claimable("blue"), network("red"));
        let all = offered([&blue, &red].into_iter(), &programmed(&blue));
        assert_eq!(
            all.iter().map(|it| (it.name.as_str(), &it.state)).collect::<Vec<_>>(),
            [("blue", &State::Available)]
        );
    }

    #[test]
    fn a_network_is_unavailable_until_it_is_programmed_and_says_why() {
        let blue = claimable("blue");
        let file = NetworkFile::Unavailable { name: blue.name.clone(), reason: "X".into(), message: "y".into() };
        let state = |files: &Files| offered([&blue].into_iter(), files).remove(0).state;
        assert!(matches!(state(&Files::new()), State::Unavailable(_)));
        assert_eq!(state(&[(blue.name.clone(), file)].into()), State::Unavailable("X: y".into()));
        let draining = NodeNetwork { phase: Phase::Draining, ..blue.clone() };
        let [network] = offered([&draining].into_iter(), &programmed(&blue)).try_into().unwrap();
        assert_eq!(network.state, State::Draining);
    }

    #[test]
    fn health_names_the_reason() {
        let broken = Offered { state: State::Unavailable("X: y".into()), ..available("red") };
        let all = health(&[available("blue"), broken], "node-a");
        let shown: Vec<_> = all.iter().map(|device| (device.health(), device.message.as_str())).collect();
        assert_eq!(shown, [(HealthStatus::Healthy, ""), (HealthStatus::Unhealthy, "X: y")]);
        assert_eq!(all.first().unwrap().device.as_ref().unwrap().device_name, "blue");
    }
}
