//! What ports start from, and what of it each engine and each type of port takes.

use super::problem::{Problem, Problems};
use crate::network::{PortSpec, RateLimitSpec, UserspaceNetworkSpec, VlanMode, VlanSpec};
use crate::{
    Engine, KilobitsPerSecond, Memif, MemifSecretKind, MemifSocketKind, Port, PortType, RateLimit, SocketRole, Vlan,
    VlanTag,
};
use std::collections::BTreeSet;

pub(super) fn port(problems: &mut Problems, engine: Engine, spec: &PortSpec) -> Option<Port> {
    let port_type = spec.port_type.unwrap_or_else(|| engine.default_port_type());
    problems.add_if((engine, port_type) == OVS_MEMIF, "spec.port.type", Problem::MemifWithOvs);
    let queues = problems.check("spec.port.queues", spec.queues.try_into());
    let ring_size = problems.check("spec.port.ringSize", spec.ring_size.try_into());
    let vlan = vlan(problems, engine, "spec.port.vlan", spec.vlan.as_ref());
    let rate_limit = rate_limit(problems, "spec.port.rateLimit", spec.rate_limit);
    settings(problems, engine, port_type, spec);
    Some(Port {
        port_type,
        queues: queues?,
        ring_size: ring_size?,
        vlan: vlan?,
        rate_limit: rate_limit?,
        memif: spec.memif.unwrap_or_default(),
        vhost_user: spec.vhost_user.unwrap_or_default(),
    })
}

const OVS_MEMIF: (Engine, PortType) = (Engine::OpenVswitch, PortType::Memif);
const UNKNOWABLE_SECRET: Memif = Memif { socket: MemifSocketKind::Abstract, secret: MemifSecretKind::Generated };

/// What is only for ports of one type.
fn settings(problems: &mut Problems, engine: Engine, port_type: PortType, spec: &PortSpec) {
    let is_foreign = |own: PortType| port_type != own;
    if let Some(memif) = spec.memif {
        problems.add_if(is_foreign(PortType::Memif), "spec.port.memif", Problem::OnlyForMemif);
        problems.add_if(memif == UNKNOWABLE_SECRET, "spec.port.memif.secret", Problem::SecretWithoutVolume);
    }
    if let Some(vhost_user) = spec.vhost_user {
        problems.add_if(is_foreign(PortType::VhostUser), "spec.port.vhostUser", Problem::OnlyForVhostUser);
        let cannot = (engine, vhost_user.engine_role) == (Engine::OpenVswitch, SocketRole::Server);
        problems.add_if(cannot, "spec.port.vhostUser.engineRole", Problem::ServerWithOvs);
    }
}

/// Open vSwitch's userspace datapath receives frames of kernel devices through a packet socket,
/// before the kernel polices them.
pub(super) fn egress_over_veth(problems: &mut Problems, spec: &UserspaceNetworkSpec) {
    if (spec.engine, spec.port.port_type) != (Engine::OpenVswitch, Some(PortType::Veth)) {
        return;
    }
    let mut check = |field: &str, rate: RateLimitSpec| {
        problems.add_if(rate.egress_kbps > 0, &format!("{field}.egressKbps"), Problem::EgressOfVethWithOvs);
    };
    check("spec.port.rateLimit", spec.port.rate_limit);
    for (index, fixed) in spec.attachments.iter().enumerate() {
        check(&format!("spec.attachments[{index}].rateLimit"), fixed.rate_limit.unwrap_or_default());
    }
}

/// The outer option is `None` when it is wrong.
pub(super) fn vlan(
    problems: &mut Problems,
    engine: Engine,
    field: &str,
    spec: Option<&VlanSpec>,
) -> Option<Option<Vlan>> {
    let Some(spec) = spec else { return Some(None) };
    let cannot = engine == Engine::Vpp && spec.mode != VlanMode::Access;
    problems.add_if(cannot, &format!("{field}.mode"), Problem::TrunkWithVpp);
    let (tag_field, trunks_field) = (format!("{field}.tag"), format!("{field}.trunks"));
    let (has_tag, has_trunks) = (spec.tag.is_some(), !spec.trunks.is_empty());
    let tag = spec.tag.and_then(|tag| problems.check(&tag_field, VlanTag::try_from(tag)));
    let trunks = trunks(problems, &trunks_field, &spec.trunks);
    match spec.mode {
        VlanMode::Trunk => problems.add_if(has_tag, &tag_field, Problem::TagOfTrunk),
        _ => problems.add_if(!has_tag, &tag_field, Problem::TagMissing),
    }
    match spec.mode {
        VlanMode::Access => problems.add_if(has_trunks, &trunks_field, Problem::TrunksOfAccess),
        _ => problems.add_if(!has_trunks, &trunks_field, Problem::TrunksMissing),
    }
    Some(Some(match spec.mode {
        VlanMode::Access => Vlan::Access { tag: tag? },
        VlanMode::Trunk => Vlan::Trunk { trunks },
        VlanMode::NativeTagged => Vlan::NativeTagged { tag: tag?, trunks },
        VlanMode::NativeUntagged => Vlan::NativeUntagged { tag: tag?, trunks },
    }))
}

fn trunks(problems: &mut Problems, field: &str, tags: &[i64]) -> BTreeSet<VlanTag> {
    let mut trunks = BTreeSet::new();
    for (index, tag) in tags.iter().enumerate() {
        let field = format!("{field}[{index}]");
        if let Some(tag) = problems.check(&field, VlanTag::try_from(*tag)) {
            problems.add_if(!trunks.insert(tag), &field, Problem::TrunkTwice(tag));
        }
    }
    trunks
}

/// `None` when it is wrong.
pub(super) fn rate_limit(problems: &mut Problems, field: &str, spec: RateLimitSpec) -> Option<RateLimit> {
    let mut rate = |name: &str, kbps: i64| match kbps {
        0 => Some(None),
        kbps => problems.check(&format!("{field}.{name}"), KilobitsPerSecond::try_from(kbps)).map(Some),
    };
    let (ingress_kbps, egress_kbps) = (rate("ingressKbps", spec.ingress_kbps), rate("egressKbps", spec.egress_kbps));
    Some(RateLimit { ingress_kbps: ingress_kbps?, egress_kbps: egress_kbps? })
}
