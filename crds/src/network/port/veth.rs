//! Settings of veth ports, `veth`, with their rules in CEL and in Rust: which engine has them, and
//! what AF_XDP cannot do.

use super::serving::Field;
use super::spec::PortSpec;
use crate::cel::{at, is, is_set, with_engine};
use crate::network::bridge::spec::BridgeSpec;
use crate::problem::{Problem, Problems};
use crate::types::port_type::AF_XDP_MTU_MAX;
use crate::{EngineKind, PortType, Veth, VethDatapath};
use kube::core::Rule;

const VETH: Field = Field { name: "veth", types: |row| row.veth_settings };
const INGRESS: &str = ".port.rateLimit.ingressKbps";
const MTU: &str = ".bridge.mtu";

/// Rules of the spec. `port_type` is the type of its ports in CEL.
pub(super) fn rules(port_type: &str) -> impl Iterator<Item = Rule> + use<> {
    let is_af_xdp = is(".port.veth.datapath", VethDatapath::AfXdp.as_str());
    let mut rules = VETH.rules(port_type);
    let mut add = |field: &str, excess: &str, problem: &Problem| {
        let expression = format!("!({is_af_xdp} && {} && {excess})", is_set(field));
        rules.push(at(field, with_engine(EngineKind::OpenVswitch, &expression), problem));
    };
    add(INGRESS, &format!("self{INGRESS} > 0"), &Problem::IngressLimitOfAfXdp);
    add(MTU, &format!("self{MTU} > {AF_XDP_MTU_MAX}"), &Problem::MtuOfAfXdp);
    rules.into_iter()
}

/// What the spec says.
pub(super) fn veth(
    problems: &mut Problems,
    engine: EngineKind,
    port_type: PortType,
    (bridge, spec): (&BridgeSpec, &PortSpec),
) -> Veth {
    let Some(found) = spec.veth else { return Veth::default() };
    VETH.check(problems, engine, port_type);
    if found.datapath == VethDatapath::AfXdp {
        let is_limited = spec.rate_limit.ingress_kbps > 0;
        problems.add_if(is_limited, &format!("spec{INGRESS}"), Problem::IngressLimitOfAfXdp);
        let is_too_large = bridge.mtu.is_some_and(|mtu| mtu > i64::from(AF_XDP_MTU_MAX));
        problems.add_if(is_too_large, &format!("spec{MTU}"), Problem::MtuOfAfXdp);
    }
    found
}
