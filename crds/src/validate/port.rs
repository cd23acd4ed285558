//! What ports start from, and what of it each engine and each type of port takes.

use super::problem::{Problem, Problems};
use crate::network::{PortSpec, VlanMode, VlanSpec};
use crate::{Engine, Memif, MemifSecretKind, MemifSocketKind, Port, PortType, SocketRole, Vlan};

pub(super) fn port(problems: &mut Problems, engine: Engine, spec: &PortSpec) -> Option<Port> {
    let port_type = spec.port_type.unwrap_or_else(|| engine.default_port_type());
    problems.add_if((engine, port_type) == OVS_MEMIF, "spec.port.type", Problem::MemifWithOvs);
    let queues = problems.check("spec.port.queues", spec.queues.try_into());
    let ring_size = problems.check("spec.port.ringSize", spec.ring_size.try_into());
    let vlan = vlan(problems, spec.vlan.as_ref());
    settings(problems, engine, port_type, spec);
    Some(Port {
        port_type,
        queues: queues?,
        ring_size: ring_size?,
        vlan: vlan?,
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

/// The outer option is `None` when it is wrong.
fn vlan(problems: &mut Problems, spec: Option<&VlanSpec>) -> Option<Option<Vlan>> {
    match spec {
        Some(VlanSpec { mode: VlanMode::Access, tag }) => {
            problems.check("spec.port.vlan.tag", (*tag).try_into()).map(|tag| Some(Vlan::Access { tag }))
        }
        None => Some(None),
    }
}
