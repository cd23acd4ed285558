//! The cases on the real Open vSwitch, and those that are about it alone.

mod af_xdp;
mod forwarding;
mod guard;
mod limits;
mod mac_learning;
mod own;
mod packet_threads;
mod packets_of_ip;
mod policy;
mod queues;
mod server;
mod tunnels;
mod unfinished;
mod uplinks;
mod veth;

use crate::switch::{Forwarding, Settings, Switch, contract};
use crate::values::{attachment, create_veth_pair};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use usnet_crds::{KilobitsPerSecond, NetworkName, RateLimit, SocketRole, XdpMode};
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::port::{DeviceName, PortBackend, PortName, SocketPath};
use usnet_ovsdb::Transaction;
use usnet_ovsdb::blocking::Client;
use usnet_test_openvswitch::OpenVswitch as Daemons;

const TIMEOUT: Duration = Duration::from_secs(10);

/// The ports of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    VhostUser(SocketRole),
    /// Where programs can connect.
    Connectable,
    Veth,
    /// Veth ports whose frames the packet threads have.
    VethByAfXdp,
}

/// Open vSwitch, with vhost-user or veth ports.
pub(crate) struct OneSwitch {
    daemons: Daemons,
    kind: Kind,
}

impl Deref for OneSwitch {
    type Target = Daemons;
    fn deref(&self) -> &Daemons {
        &self.daemons
    }
}

impl DerefMut for OneSwitch {
    fn deref_mut(&mut self) -> &mut Daemons {
        &mut self.daemons
    }
}

impl From<Daemons> for OneSwitch {
    fn from(daemons: Daemons) -> Self {
        Self { daemons, kind: Kind::VhostUser(SocketRole::Client) }
    }
}

fn start() -> Option<OneSwitch> {
    Some(Daemons::builder().dpdk(true).dpdk_memory(64).start().expect("Open vSwitch").into())
}

fn client(daemons: &Daemons) -> Client {
    Client::connect(daemons.socket(), TIMEOUT).expect("a database that answers")
}

fn vsctl(daemons: &Daemons, arguments: &str) -> String {
    daemons.vsctl(&arguments.split(' ').collect::<Vec<_>>()).expect("ovs-vsctl")
}

fn row_of_port(daemons: &Daemons, port: &str) -> String {
    vsctl(daemons, &format!("get Port {port} _uuid")).trim().to_owned()
}

impl Switch for OneSwitch {
    type Engine = OpenVswitch<Client>;
    const KIND: usnet_crds::EngineKind = usnet_crds::EngineKind::OpenVswitch;
    const REMEMBERS: bool = true;

    fn engine(&self) -> Self::Engine {
        let mut engine = OpenVswitch::new(client(self));
        if matches!(self.kind, Kind::VethByAfXdp) {
            // The main thread loads a program for each device: half a second, on a busy machine.
            engine.set_apply_timeout(TIMEOUT);
        }
        engine
    }

    fn control_socket(&self) -> PathBuf {
        self.socket().to_owned()
    }

    fn backend(&self, container: &str) -> PortBackend {
        match self.kind {
            Kind::Veth | Kind::VethByAfXdp => {
                let device = DeviceName::of(&attachment(container));
                create_veth_pair(&device, |program| self.command(program));
                match self.kind {
                    Kind::VethByAfXdp => PortBackend::AfXdp { device, mode: XdpMode::BestEffort },
                    _ => PortBackend::Device { device },
                }
            }
            Kind::Connectable => {
                let socket = SocketPath::try_from(self.folder().join(format!("{container}.sock")));
                PortBackend::VhostUser { socket: socket.expect("a short path"), engine_role: SocketRole::Client }
            }
            Kind::VhostUser(engine_role) => {
                let path = PathBuf::from(format!("/run/usnet-contract/{container}/net1.sock"));
                let socket = SocketPath::try_from(path).expect("a short path");
                PortBackend::VhostUser { socket, engine_role }
            }
        }
    }

    fn add_foreign_bridge(&self, bridge: &str) {
        vsctl(self, &format!("add-br {bridge} -- set Bridge {bridge} datapath_type=netdev external_ids:owner=other"));
    }

    fn in_namespace(&self, program: &str) -> Command {
        self.command(program)
    }

    fn moves_frames(&self) -> bool {
        true
    }

    fn add_foreign_device(&self, bridge: &str, device: &str) {
        vsctl(self, &format!("add-port {bridge} {device}"));
    }

    fn add_foreign_port(&self, bridge: &str) -> PortName {
        vsctl(self, &format!("add-port {bridge} foreign0 -- set Interface foreign0 type=internal"));
        PortName::observed("foreign0")
    }

    fn remove_bridge(&self, bridge: &str) {
        vsctl(self, &format!("del-br {bridge}"));
    }

    fn remove_port(&self, bridge: &str, port: &PortName) {
        vsctl(self, &format!("del-port {bridge} {port}"));
    }

    fn move_port(&self, port: &PortName, from: &str, to: &str) {
        let row = row_of_port(self, port.as_str());
        vsctl(self, &format!("remove Bridge {from} ports {row} -- add Bridge {to} ports {row}"));
    }

    fn remove_tag(&self, bridge: &str, _network: &NetworkName) {
        vsctl(self, &format!("remove Bridge {bridge} external_ids usnet.dev/network"));
    }

    fn change_mac_settings(&self, bridge: &str) {
        vsctl(self, &format!("set Bridge {bridge} flood_vlans=7 other_config:mac-aging-time=20"));
    }

    fn change_mac_table(&self, bridge: &str) {
        vsctl(self, &format!("set Bridge {bridge} other_config:mac-table-size=1000000"));
    }

    /// `_version` of a row changes with each write. The switch itself writes to interfaces and the
    /// table Open_vSwitch, so only the columns that usnet writes are compared there.
    fn dump(&self) -> String {
        let mut transaction = Transaction::new();
        let selected = [
            ("Open_vSwitch", &["next_cfg", "bridges"][..]),
            // Without what the switch itself writes there, when it gets to it.
            ("Bridge", &["_uuid", "name", "ports", "datapath_type", "other_config", "external_ids"][..]),
            ("Port", &["_uuid", "name", "interfaces", "tag", "trunks", "vlan_mode", "qos", "external_ids"][..]),
            ("Interface", &["name", "type", "options", "mtu_request", "external_ids"][..]),
            ("QoS", &["_uuid", "type", "other_config", "external_ids"][..]),
        ]
        .map(|(table, columns)| transaction.select(table, vec![], columns));
        let reply = client(self).transact(&transaction).expect("all rows");
        format!("{:#?}", selected.map(|index| reply.raw_rows(index).expect("rows").to_vec()))
    }

    fn port_identity(&self, port: &PortName) -> String {
        vsctl(self, &format!("get Interface {port} _uuid ofport"))
    }

    fn forwards(&self, bridge: &str, port: &PortName) -> bool {
        let observed = self.appctl(&["dpif/show"]).expect("what the switch has");
        let of_bridge = observed.lines().skip_while(|line| line.trim() != format!("{bridge}:")).skip(1);
        of_bridge.take_while(|line| line.starts_with("    ")).any(|line| line.contains(port.as_str()))
    }

    fn kill(&mut self) {
        self.kill_ovsdb_server().expect("kill");
    }

    fn restart(&mut self) {
        self.start_ovsdb_server().expect("start");
    }
}

impl Forwarding for OneSwitch {
    fn kill_forwarding(&mut self) {
        self.kill_vswitchd().expect("kill");
    }

    fn start_forwarding(&mut self) {
        self.start_vswitchd().expect("start");
    }
}

impl Settings for OneSwitch {
    fn change_vlans(&self, port: &PortName) {
        vsctl(self, &format!("set Port {port} vlan_mode=trunk tag=[] trunks=99"));
    }

    fn change_limits(&self, port: &PortName) {
        vsctl(self, &format!("set Interface {port} ingress_policing_rate=77 ingress_policing_burst=7"));
        let foreign = "type=egress-policer other_config:cir=99999 other_config:cbs=9999";
        vsctl(self, &format!("set Port {port} qos=@theirs -- --id=@theirs create QoS {foreign}"));
    }

    fn enforced(&self, port: &PortName) -> RateLimit {
        let egress = vsctl(self, &format!("get Interface {port} ingress_policing_rate"));
        // The running limits, not the configured ones.
        let observed = self.appctl(&["qos/show", port.as_str()]).unwrap_or_default();
        let find = |key: &str| observed.lines().find_map(|line| line.strip_prefix(key));
        let number = |text: &str| text.trim().parse::<i64>().expect("a number");
        let limit = |kilobits: i64| KilobitsPerSecond::try_from(kilobits).ok();
        let ingress = match (find("cir: "), find("max-rate: ")) {
            (Some(bytes), _) => number(bytes) * 8 / 1000,
            (None, Some(bits)) => number(bits) / 1000,
            (None, None) => 0,
        };
        RateLimit { ingress_kbps: limit(ingress), egress_kbps: limit(number(&egress)) }
    }

    fn bridge_settings(&self, bridge: &str) -> String {
        let row = vsctl(self, &format!("list Bridge {bridge}"));
        let own = vsctl(self, &format!("list Interface {bridge}"));
        let is_setting =
            |line: &&str| !["ports ", "statistics ", "link_resets "].iter().any(|column| line.starts_with(column));
        row.lines().chain(own.lines()).filter(is_setting).collect::<Vec<_>>().join("\n")
    }
}

contract!(start();
    captures::a_capture_is_no_port_and_is_removed_by_its_mark,
    captures::a_captured_port_and_its_network_are_removed,
    captures::only_a_port_of_the_attachment_is_captured,
    counters::a_port_without_a_program_is_not_connected_and_received_nothing,
    counters::an_engine_that_does_not_answer_has_no_counters,
    adopted::an_adopted_bridge_gets_ports_and_nothing_else,
    adopted::a_missing_bridge_is_not_created_to_be_adopted,
    adopted::a_bridge_of_another_network_is_not_adopted,
    adopted::networks_that_share_an_adopted_bridge_leave_each_others_ports_alone,
    settings::every_vlan_mode_is_set_changed_and_put_back,
    settings::limits_are_set_changed_put_back_and_removed,
    creation::desired_objects_are_created_and_deleted,
    creation::a_second_apply_changes_nothing,
    creation::settings_change_in_place,
    creation::learning_and_age_of_mac_addresses_change_in_place,
    creation::the_size_of_the_mac_table_is_set_and_kept,
    creation::two_hundred_networks_in_one_go,
    creation::several_attach_at_once,
    foreign::a_foreign_bridge_of_the_same_name_is_not_changed,
    foreign::a_foreign_port_survives_in_an_owned_bridge,
    foreign::a_bridge_without_a_tag_is_no_longer_owned,
    drift::objects_deleted_by_others_are_recreated,
    drift::a_port_moved_by_others_is_moved_back,
    refusals::a_failing_operation_does_not_block_the_others,
    refusals::one_socket_serves_one_port,
    refusals::a_name_that_is_requested_twice_is_used_once,
    outages::a_stalled_switch_is_an_error_and_converges_later,
    outages::a_switch_that_does_not_answer_never_looks_empty,
);
