//! Converts specs of users into validated types. The API server enforces the same rules (see the
//! files of this folder), but the CRD of a cluster may be older, or lack the rules: after
//! [`validate`] the unvalidated spec is not read again.

pub use crate::problem::{InvalidField, InvalidSpec, Problem};

use super::bridge::spec::bridge;
use super::gateway::spec::gateway;
use super::ipam::node_prefix::{HOST_LOCAL, NodePrefix};
use super::name::network_name;
use super::node_access::spec::node_access;
use super::policies::policies;
use super::selectors::selector;
use super::settings::network_struct;
use super::topology::Topology;
use super::topology::spec::topology;
use super::{Definitions, UserspaceNetwork, UserspaceNetworkSpec, attachments, ipam, port};
use crate::problem::Problems;
use crate::reservation::allowed::{Allowed, allowed};
use crate::{Bridge, DevicePlugin, NetworkName, Policies, Port, ResourceClaims};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;

network_struct! {
    plain
    /// A network whose spec breaks no rule.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ValidNetwork {
        pub name: NetworkName,
        /// The namespaces whose pods may attach.
        pub namespaces: Selector,
        pub definitions: Definitions,
        /// The nodes that carry the network; none means those that have the engine.
        pub nodes: Option<Selector>,
        /// The node selector as it was written, for the nodes.
        pub node_selector: Option<LabelSelector>,
        pub topology: Topology,
        /// How the ranges of the IPAM configuration are divided among the nodes.
        pub node_prefix: Option<NodePrefix>,
        /// What reservations may fix; none means nothing.
        pub reservations: Option<Allowed>,
    }
}

impl ValidNetwork {
    /// Whether pods of one segment can get one address: host-local counts on each node by itself.
    pub fn has_ambiguous_addresses(&self) -> bool {
        self.topology != Topology::NodeLocal && self.counts_addresses_per_node()
    }

    /// Whether each node assigns addresses of the same ranges by itself.
    pub fn counts_addresses_per_node(&self) -> bool {
        let plugin = self.ipam.as_ref().and_then(|ipam| ipam.get("type")?.as_str());
        plugin == Some(HOST_LOCAL) && self.node_prefix.is_none()
    }
}

/// Validates a network, and reports all fields that break a rule.
pub fn validate(network: &UserspaceNetwork) -> Result<ValidNetwork, InvalidSpec> {
    let mut problems = Problems::default();
    let (spec, name) = (&network.spec, name(&mut problems, network));
    let namespaces = selector(&mut problems, "spec.namespaceSelector", &spec.namespace_selector);
    let nodes = nodes(&mut problems, spec.node_selector.as_ref());
    let bridge = bridge(&mut problems, spec.engine, &spec.bridge, spec.topology.default_mtu(), name.as_ref());
    let topology = topology(&mut problems, &spec.topology, spec.bridge.ownership);
    let port = port::port(&mut problems, spec.engine, &spec.bridge, &spec.port);
    let bridge = bridge.map(|bridge| Bridge { is_guarded: port.as_ref().is_some_and(Port::is_guarded), ..bridge });
    let ipam = ipam::ipam(&mut problems, spec.ipam.as_ref());
    let attachments = attachments::attachments(&mut problems, spec.engine, &spec.attachments);
    let gateway = gateway(&mut problems, spec.engine, spec.bridge.ownership, spec.gateway.as_ref(), &attachments);
    let others = (port.as_ref(), topology.as_ref(), gateway.as_ref().and_then(Option::as_ref));
    let node_access = node_access(&mut problems, spec.node_access.as_ref(), others, &attachments);
    let (device_plugin, resource_claims) = devices(&mut problems, spec);
    let policies = policies_and_attachments(&mut problems, spec);
    let reservations = allowed(&mut problems, network.metadata.name.as_deref().unwrap_or_default(), spec);
    match (name, namespaces, nodes, bridge, topology, port, ipam, gateway, node_access, reservations) {
        (
            Some(name),
            Some(namespaces),
            Some(nodes),
            Some(bridge),
            Some(topology),
            Some(port),
            Some((ipam, node_prefix)),
            Some(gateway),
            Some(node_access),
            Some(reservations),
        ) if problems.count() == 0 => Ok(ValidNetwork {
            name,
            engine: spec.engine,
            namespaces,
            definitions: spec.definitions,
            nodes,
            node_selector: spec.node_selector.clone(),
            bridge,
            topology,
            port,
            ipam,
            node_prefix,
            reservations,
            gateway,
            node_access,
            attachments,
            device_plugin,
            resource_claims,
            policies,
        }),
        _ => Err(problems.into_invalid()),
    }
}

/// The selector of nodes. The outer option is none when it is wrong.
fn nodes(problems: &mut Problems, spec: Option<&LabelSelector>) -> Option<Option<Selector>> {
    match spec {
        Some(nodes) => selector(problems, "spec.nodeSelector", nodes).map(Some),
        None => Some(None),
    }
}

fn name(problems: &mut Problems, network: &UserspaceNetwork) -> Option<NetworkName> {
    let spec = &network.spec;
    let has_devices = spec.device_plugin.is_some() || spec.resource_claims.is_some();
    problems.check("metadata.name", network_name(spec.engine, has_devices, network.metadata.name.clone()))
}

/// The policies, and whether the attachments fit the IPAM plugin and the port.
fn policies_and_attachments(problems: &mut Problems, spec: &UserspaceNetworkSpec) -> Policies {
    ipam::check_fixed(problems, spec.ipam.as_ref(), &spec.attachments);
    let fixed_rates = spec.attachments.iter().map(|fixed| fixed.rate_limit.unwrap_or_default());
    port::unlimited_egress(problems, spec.engine, &spec.port, fixed_rates);
    port::memif_mode::memif_mode(problems, spec);
    policies(problems, spec)
}

/// What kubelet counts. Wrong numbers are among the problems.
fn devices(problems: &mut Problems, spec: &UserspaceNetworkSpec) -> (Option<DevicePlugin>, Option<ResourceClaims>) {
    let of_plugin = spec.device_plugin.as_ref();
    let of_claims = spec.resource_claims.as_ref();
    (
        of_plugin.and_then(|it| problems.check("spec.devicePlugin.devices", it.devices.try_into())),
        of_claims.and_then(|it| problems.check("spec.resourceClaims.ports", it.ports.try_into())),
    )
}
