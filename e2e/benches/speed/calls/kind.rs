//! The kinds of ports.

use usnet_crds::{EngineKind, Memif, MemifSocketKind, Port, PortType, SocketRole, VhostUser};

/// A kind of port, and how it is called in the report.
#[derive(Debug, Clone)]
pub(crate) struct PortKind {
    pub(crate) engine: EngineKind,
    pub(crate) name: &'static str,
    pub(crate) port: Port,
}

impl PortKind {
    /// All kinds that an engine has.
    pub(crate) fn all(engine: EngineKind) -> Vec<Self> {
        let of = |port_type| Port { port_type, ..Port::default() };
        let memif = |socket| Port { memif: Memif { socket, ..Memif::default() }, ..of(PortType::Memif) };
        let vhost_user = |engine_role| Port { vhost_user: VhostUser { engine_role }, ..of(PortType::VhostUser) };
        let ports = match engine {
            EngineKind::OpenVswitch => vec![("vhost-user", of(PortType::VhostUser)), ("veth", of(PortType::Veth))],
            EngineKind::Vpp => vec![
                ("memif", memif(MemifSocketKind::Volume)),
                ("memif, abstract", memif(MemifSocketKind::Abstract)),
                ("vhost-user, pod listens", vhost_user(SocketRole::Client)),
                ("vhost-user, VPP listens", vhost_user(SocketRole::Server)),
                ("veth", of(PortType::Veth)),
            ],
        };
        ports.into_iter().map(|(name, port)| Self { engine, name, port }).collect()
    }

    /// The kind of this type.
    pub(crate) fn of_type(engine: EngineKind, port_type: PortType) -> Self {
        Self::all(engine).into_iter().find(|kind| kind.port.port_type == port_type).expect("the engine has it")
    }

    pub(crate) fn is_veth(&self) -> bool {
        self.port.port_type == PortType::Veth
    }

    /// A veth of VPP. Real VPP 26.06 stopped answering when fifty were created and deleted at once,
    /// by raw requests as well.
    pub(crate) fn is_host_interface(&self) -> bool {
        self.is_veth() && self.engine == EngineKind::Vpp
    }
}
