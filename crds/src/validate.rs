//! Converts specs of users into validated types. The API server enforces the same rules (see
//! `rules`), but the CRD of a cluster may be older, or lack the rules: after [`validate`] the
//! unvalidated spec is not read again.

mod attachments;
mod bridge;
mod ipam;
mod port;
mod problem;

pub use problem::{InvalidField, InvalidSpec, Problem};

use crate::device::DEVICE_NETWORK_NAME_MAX;
use crate::names::VPP_NETWORK_NAME_MAX;
use crate::network::{Definitions, DevicePluginSpec, UserspaceNetwork, UserspaceNetworkSpec};
use crate::{Bridge, DevicePlugin, Engine, FixedAttachment, InvalidName, NetworkName, Port};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;
use problem::Problems;

/// A network whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidNetwork {
    /// Its name.
    pub name: NetworkName,
    /// Its engine.
    pub engine: Engine,
    /// Namespaces whose pods may attach.
    pub namespaces: Selector,
    /// Where its NetworkAttachmentDefinitions are.
    pub definitions: Definitions,
    /// Nodes that carry it; none means those that have the engine.
    pub nodes: Option<Selector>,
    /// The node selector as written, for the nodes.
    pub node_selector: Option<LabelSelector>,
    /// Its bridge.
    pub bridge: Bridge,
    /// What its ports start from.
    pub port: Port,
    /// A CNI IPAM configuration.
    pub ipam: Option<serde_json::Value>,
    /// What the names of pods fix, sorted by namespace and pod.
    pub attachments: Vec<FixedAttachment>,
    /// How kubelet counts its attachments.
    pub device_plugin: Option<DevicePlugin>,
}

/// Validates a network.
///
/// # Errors
/// All the fields that break a rule.
pub fn validate(network: &UserspaceNetwork) -> Result<ValidNetwork, InvalidSpec> {
    let mut problems = Problems::default();
    let spec = &network.spec;
    let name = problems.check("metadata.name", network_name(spec, network.metadata.name.clone()));
    let namespaces = selector(&mut problems, "spec.namespaceSelector", &spec.namespace_selector);
    let nodes = match &spec.node_selector {
        Some(nodes) => selector(&mut problems, "spec.nodeSelector", nodes).map(Some),
        None => Some(None),
    };
    let bridge = bridge::bridge(&mut problems, spec.engine, &spec.bridge, name.as_ref());
    let port = port::port(&mut problems, spec.engine, &spec.port);
    let ipam = ipam::ipam(&mut problems, spec.ipam.as_ref());
    let attachments = attachments::attachments(&mut problems, spec.engine, &spec.attachments);
    port::egress_over_veth(&mut problems, spec);
    let check_devices =
        |plugin: &DevicePluginSpec| problems.check("spec.devicePlugin.devices", plugin.devices.try_into());
    let device_plugin = spec.device_plugin.as_ref().and_then(check_devices);
    match (name, namespaces, nodes, bridge, port, ipam) {
        (Some(name), Some(namespaces), Some(nodes), Some(bridge), Some(port), Some(ipam)) if problems.count() == 0 => {
            Ok(ValidNetwork {
                name,
                engine: spec.engine,
                namespaces,
                definitions: spec.definitions,
                nodes,
                node_selector: spec.node_selector.clone(),
                bridge,
                port,
                ipam,
                attachments,
                device_plugin,
            })
        }
        _ => Err(problems.into_invalid()),
    }
}

/// The name of the network, which the engine and kubelet must be able to store.
fn network_name(spec: &UserspaceNetworkSpec, name: Option<String>) -> Result<NetworkName, InvalidName> {
    let name = NetworkName::try_from(name.unwrap_or_default())?;
    if spec.device_plugin.is_some() && name.as_str().len() > DEVICE_NETWORK_NAME_MAX {
        return Err(InvalidName::DeviceNetwork(name.into()));
    }
    match spec.engine {
        Engine::Vpp if name.as_str().len() > VPP_NETWORK_NAME_MAX => Err(InvalidName::VppNetwork(name.into())),
        _ => Ok(name),
    }
}

fn selector(problems: &mut Problems, field: &str, selector: &LabelSelector) -> Option<Selector> {
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let has_values = requirement.values.as_ref().is_some_and(|values| !values.is_empty());
        let problem = match requirement.operator.as_str() {
            "In" | "NotIn" if has_values => continue,
            "Exists" | "DoesNotExist" if !has_values => continue,
            "In" | "NotIn" | "Exists" | "DoesNotExist" => Problem::SelectorValues,
            other => Problem::SelectorOperator(other.to_owned()),
        };
        problems.add(format!("{field}.matchExpressions[{index}]"), problem);
        return None;
    }
    let unknown = |_| Problem::SelectorValues;
    problems.check(field, Selector::try_from(selector.clone()).map_err(unknown))
}
