//! A memif that carries IP packets: what it needs of its network, in CEL and in Rust. Such a port
//! is not on the bridge; the gateway of its node routes to it.

use super::anti_spoofing;
use crate::cel::{at, is, is_set, or_default};
use crate::network::UserspaceNetworkSpec;
use crate::network::topology::TopologyType;
use crate::network::topology::spec::is_node_local;
use crate::problem::{Problem, Problems};
use crate::{MemifMode, PortType};
use kube::core::Rule;

const FIELD: &str = "port.memif.mode";
const ATTACHMENTS: &str = "attachments";
const ANTI_SPOOFING: &str = "port.antiSpoofing";

/// Rules of the spec.
pub(crate) fn rules() -> [Rule; 5] {
    let rule = |field: &str, expression: &str, problem: &Problem| {
        at(&format!(".{field}"), format!("!{} || {expression}", is(".port.memif.mode", "IP")), problem)
    };
    let is_limited = ["ingressKbps", "egressKbps"]
        .map(|name| format!("{} > 0", or_default(&format!(".port.rateLimit.{name}"), "0")));
    let has_no_settings = format!("!({} || {})", is_set(".port.vlan"), is_limited.join(" || "));
    let fixes_no_settings = "!(has(self.attachments) && self.attachments.exists(a, has(a.vlan) || has(a.rateLimit)))";
    [
        rule(FIELD, "has(self.gateway)", &Problem::RoutedWithoutGateway),
        rule(FIELD, &is_node_local(), &Problem::RoutedAcrossNodes),
        rule(FIELD, &has_no_settings, &Problem::RoutedWithBridgeSettings),
        rule(ATTACHMENTS, fixes_no_settings, &Problem::RoutedWithBridgeSettings),
        rule(ANTI_SPOOFING, &anti_spoofing::is_off(), &Problem::AntiSpoofingOfRouted),
    ]
}

pub(crate) fn memif_mode(problems: &mut Problems, spec: &UserspaceNetworkSpec) {
    let port_type = spec.port.port_type.unwrap_or_else(|| spec.engine.default_port_type());
    let is_ip = spec.port.memif.is_some_and(|memif| memif.mode == MemifMode::Ip);
    if !is_ip || port_type != PortType::Memif {
        return;
    }
    let field = format!("spec.{FIELD}");
    problems.add_if(spec.gateway.is_none(), &field, Problem::RoutedWithoutGateway);
    let is_local = spec.topology.topology_type == TopologyType::NodeLocal;
    problems.add_if(!is_local, &field, Problem::RoutedAcrossNodes);
    let is_limited = spec.port.rate_limit.ingress_kbps > 0 || spec.port.rate_limit.egress_kbps > 0;
    problems.add_if(spec.port.vlan.is_some() || is_limited, &field, Problem::RoutedWithBridgeSettings);
    let is_off = spec.port.anti_spoofing.unwrap_or_default().is_off();
    problems.add_if(!is_off, &format!("spec.{ANTI_SPOOFING}"), Problem::AntiSpoofingOfRouted);
    let has_fixed = spec.attachments.iter().any(|fixed| fixed.vlan.is_some() || fixed.rate_limit.is_some());
    problems.add_if(has_fixed, &format!("spec.{ATTACHMENTS}"), Problem::RoutedWithBridgeSettings);
}
