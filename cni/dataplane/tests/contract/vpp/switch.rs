//! VPP as the cases need it.

use super::namespace::Namespace;
use super::other_client::{OtherClient, text};
use super::recording::{Exchanged, Exchanges, Recording};
use crate::switch::{Settings, Switch};
use crate::values::{attachment, create_veth_pair};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use usnet_crds::{KilobitsPerSecond, NetworkName, RateLimit, SocketRole};
use usnet_dataplane::memif::{MemifSocket, MemifSocketIds};
use usnet_dataplane::port::{DeviceName, PortBackend, PortName, SocketPath, TapDevice};
use usnet_dataplane::vpp::Vpp as Driver;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::{
    BdFlags, BridgeDomainSetLearnLimit, BridgeDomainSetMacAge, BridgeFlags, IfStatusFlags, L2FlagsGet, L2InputFeatures,
    L2InterfaceVlanTagRewrite, L2OutputFeatures, PolicerAction, PolicerActionType, PolicerAddDel, PolicerInput, VtrOp,
};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// The memif socket ids that usnet owns in these tests.
pub(crate) const SOCKET_IDS: [u32; 2] = [5000, 5999];
/// The age set by [`Switch::change_mac_settings`], in minutes.
const FOREIGN_MAC_AGE: u8 = 77;
/// VPP's default, which its heap has no room for.
const FOREIGN_LEARN_LIMIT: u32 = 16_777_216;

/// The backends of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortKind {
    MemifVolume,
    MemifAbstract,
    VhostUserClient,
    VhostUserServer,
    /// On devices of the kernel.
    Veth,
    /// In the network namespace of a pod, each with the name of its container.
    Tap,
}

/// A VPP of its own for one test.
#[derive(Debug)]
pub(crate) struct VppSwitch {
    vpp: Vpp,
    port_kind: PortKind,
    namespace: Namespace,
    other_client: Mutex<OtherClient>,
    exchanges: Exchanges,
}

impl VppSwitch {
    pub(crate) fn new(vpp: Vpp, port_kind: PortKind) -> Self {
        let other_client = Mutex::new(OtherClient::new(vpp.socket().to_owned()));
        Self { vpp, port_kind, namespace: Namespace::new(), other_client, exchanges: Exchanges::default() }
    }

    /// Another client of this VPP.
    pub(crate) fn other_client(&self) -> MutexGuard<'_, OtherClient> {
        self.other_client.lock().expect("no failed test goes on")
    }

    pub(crate) fn client(&self, timeout: Duration) -> Recording {
        let client = Client::connect(self.vpp.socket(), timeout).expect("VPP answers");
        Recording { client, exchanges: self.exchanges.clone() }
    }

    pub(crate) fn socket_ids() -> MemifSocketIds {
        let [first, last] = SOCKET_IDS;
        format!("{first}-{last}").parse().expect("a range")
    }

    /// The directory of a container's volume, which is created if missing.
    pub(crate) fn volume(&self, container: &str) -> PathBuf {
        let folder = self.vpp.folder().join(container);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// The names of the drivers' requests that change something.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.exchanges.changes()
    }

    /// What the drivers have exchanged with VPP since this was called last.
    pub(crate) fn take_exchanged(&self) -> Exchanged {
        self.exchanges.take()
    }

    /// The backend of a container's port, which may be of another kind than those of others.
    pub(crate) fn backend_of(&self, port_kind: PortKind, container: &str) -> PortBackend {
        let socket = |name: &str| self.volume(container).join(name);
        let vhost_user = |engine_role| {
            let socket = SocketPath::try_from(socket("net1.sock")).expect("a short path");
            PortBackend::VhostUser { socket, engine_role }
        };
        match port_kind {
            PortKind::MemifVolume => {
                PortBackend::memif(MemifSocket::file(socket("memif-net1.sock")).expect("a short path"))
            }
            PortKind::MemifAbstract => {
                let socket = MemifSocket::in_namespace(container, &self.namespace.path());
                PortBackend::memif(socket.expect("a short name"))
            }
            PortKind::VhostUserClient => vhost_user(SocketRole::Client),
            PortKind::VhostUserServer => vhost_user(SocketRole::Server),
            PortKind::Tap => {
                let interface = container.parse().expect("a name");
                let device = TapDevice::new(&interface, &self.namespace.path()).expect("a short path");
                PortBackend::Tap { device }
            }
            PortKind::Veth => {
                let device = DeviceName::of(&attachment(container));
                create_veth_pair(&device, |program| Command::new(program));
                PortBackend::Device { device }
            }
        }
    }

    /// The output of a command in the network namespace of the pods; `None` if it fails.
    pub(crate) fn in_pod(&self, command: &str) -> Option<String> {
        let mut nsenter = Command::new("nsenter");
        nsenter.arg(format!("--net={}", self.namespace.path().display())).args(command.split(' '));
        let output = nsenter.output().expect("nsenter");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(crate) fn vpp(&self) -> &Vpp {
        &self.vpp
    }
}

pub(crate) fn domain_id(bridge: &str) -> u32 {
    bridge.parse().expect("the id of a bridge domain")
}

impl Switch for VppSwitch {
    type Engine = Driver<Recording>;
    const KIND: usnet_crds::EngineKind = usnet_crds::EngineKind::Vpp;
    const REMEMBERS: bool = false;

    fn engine(&self) -> Driver<Recording> {
        Driver::new(self.client(TIMEOUT), Self::socket_ids())
    }

    fn control_socket(&self) -> PathBuf {
        self.vpp.socket().to_owned()
    }

    fn backend(&self, container: &str) -> PortBackend {
        self.backend_of(self.port_kind, container)
    }

    fn add_foreign_bridge(&self, bridge: &str) {
        self.other_client().add_domain(domain_id(bridge), "foreign");
    }

    fn in_namespace(&self, program: &str) -> Command {
        Command::new(program)
    }

    fn moves_frames(&self) -> bool {
        self.vpp.kind() == Kind::Real
    }

    fn add_foreign_device(&self, bridge: &str, device: &str) {
        let mut other_client = self.other_client();
        let index = other_client.add_on_device(device);
        other_client.put_into(index, domain_id(bridge));
    }

    fn add_foreign_port(&self, bridge: &str) -> PortName {
        let mut other_client = self.other_client();
        let index = other_client.add_loopback();
        other_client.put_into(index, domain_id(bridge));
        let interfaces = other_client.interfaces();
        let created = interfaces.iter().find(|interface| interface.sw_if_index == index).expect("the interface");
        PortName::observed(created.interface_name.as_str())
    }

    fn remove_bridge(&self, bridge: &str) {
        self.other_client().remove_domain(domain_id(bridge));
    }

    fn remove_port(&self, _bridge: &str, port: &PortName) {
        let mut other_client = self.other_client();
        let index = other_client.interface(port).sw_if_index;
        other_client.remove_interface(index);
    }

    fn move_port(&self, port: &PortName, _from: &str, to: &str) {
        let mut other_client = self.other_client();
        let index = other_client.interface(port).sw_if_index;
        other_client.put_into(index, domain_id(to));
    }

    /// VPP cannot change the tag of a bridge domain.
    fn remove_tag(&self, bridge: &str, _network: &NetworkName) {
        let mut other_client = self.other_client();
        other_client.remove_domain(domain_id(bridge));
        other_client.add_domain(domain_id(bridge), "");
    }

    fn change_mac_settings(&self, bridge: &str) {
        let (mut other_client, bd_id) = (self.other_client(), domain_id(bridge));
        let learns = other_client.domains()[&bd_id].learn;
        other_client.request(BridgeFlags { bd_id, is_set: !learns, flags: BdFlags::LEARN });
        other_client.request(BridgeDomainSetMacAge { bd_id, mac_age: FOREIGN_MAC_AGE });
    }

    fn change_mac_table(&self, bridge: &str) {
        let (bd_id, learn_limit) = (domain_id(bridge), FOREIGN_LEARN_LIMIT);
        self.other_client().request(BridgeDomainSetLearnLimit { bd_id, learn_limit });
    }

    fn dump(&self) -> String {
        format!("{}\n{:#?}", self.other_client().dump_all(), self.changes())
    }

    /// VPP gives each interface a random MAC address, and reuses indexes.
    fn port_identity(&self, port: &PortName) -> String {
        format!("{:02x?}", self.other_client().interface(port).l2_address)
    }

    fn forwards(&self, bridge: &str, port: &PortName) -> bool {
        let mut other_client = self.other_client();
        let Some(interface) = other_client.find(port) else { return false };
        let members =
            other_client.domains().remove(&domain_id(bridge)).map_or_else(Vec::new, |domain| domain.sw_if_details);
        interface.flags.contains(IfStatusFlags::ADMIN_UP)
            && members.iter().any(|member| member.sw_if_index == interface.sw_if_index)
    }

    fn kill(&mut self) {
        self.other_client().drop_connection();
        self.vpp.kill().expect("kill");
    }

    fn restart(&mut self) {
        self.vpp.start_again().expect("VPP starts again");
    }
}

impl Settings for VppSwitch {
    fn change_vlans(&self, port: &PortName) {
        let sw_if_index = self.other_client().interface(port).sw_if_index;
        let (vtr_op, push_dot1q, tag1, tag2) = (VtrOp::Push1, 1, 99, 0);
        self.other_client().request(L2InterfaceVlanTagRewrite { sw_if_index, vtr_op, push_dot1q, tag1, tag2 });
    }

    /// A change as by another agent of usnet.
    fn change_limits(&self, port: &PortName) {
        let mut other_client = self.other_client();
        let sw_if_index = other_client.interface(port).sw_if_index;
        let name = text(&format!("usnet:{port}:egress:77"));
        let conform_action = PolicerAction { r#type: PolicerActionType::Transmit, dscp: 0 };
        let (is_add, cir, cb) = (true, 77, 20_000);
        let policer = PolicerAddDel { is_add, name, cir, cb, conform_action, ..PolicerAddDel::default() };
        let prefix = format!("usnet:{port}:egress:");
        for name in other_client.policers().iter().filter(|name| name.starts_with(&prefix)) {
            other_client.request(PolicerAddDel { is_add: false, name: text(name), ..PolicerAddDel::default() });
        }
        other_client.request(policer.clone());
        other_client.request(PolicerInput { name: policer.name, sw_if_index, apply: true });
    }

    /// The policers of a port, as far as VPP reports that they are attached.
    fn enforced(&self, port: &PortName) -> RateLimit {
        let mut other_client = self.other_client();
        let sw_if_index = other_client.interface(port).sw_if_index;
        let observed = other_client.request(L2FlagsGet { sw_if_index });
        let is_used = [
            ("ingress", observed.output_feature_bitmap.contains(L2OutputFeatures::POLICER)),
            ("egress", observed.input_feature_bitmap.contains(L2InputFeatures::POLICER)),
        ];
        let names = other_client.policers();
        let [ingress_kbps, egress_kbps] = is_used.map(|(direction, is_used)| {
            let prefix = format!("usnet:{port}:{direction}:");
            let mut rates = names.iter().filter_map(|name| name.strip_prefix(&prefix)?.parse::<i64>().ok());
            let rate = rates.next().filter(|_| is_used);
            rate.map(|rate| KilobitsPerSecond::try_from(rate).expect("a rate"))
        });
        RateLimit { ingress_kbps, egress_kbps }
    }

    fn bridge_settings(&self, bridge: &str) -> String {
        let mut domain = self.other_client().domains().remove(&domain_id(bridge)).expect("a bridge domain");
        domain.sw_if_details.clear();
        format!("{domain:?}")
    }
}
