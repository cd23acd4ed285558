//! The engines for the plugin's tests, each started for one test.

use super::vpp::{self as test_vpp, VppSnapshot};
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::{EngineKind, Mtu, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::bridge::DesiredBridge;
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::{Op, RoutingOp};
use usnet_dataplane::port::{DesiredPort, PortMtu};
use usnet_dataplane::routing::NetworkGateway;
use usnet_dataplane::{ovs, vpp};
use usnet_ovsdb::blocking::Client;
use usnet_test_openvswitch::{Builder, OpenVswitch};
use usnet_test_vpp::Vpp;

const AMPLE: Duration = Duration::from_secs(30);

/// Runs each of these tests on Open vSwitch, on the simulated VPP, and on a real VPP if available.
macro_rules! on_each_engine {
    ($($name:ident),+ $(,)?) => {
        crate::support::engine::on_open_vswitch!($($name),+);
        crate::support::engine::on_each_vpp!($($name),+);
    };
}
pub(crate) use on_each_engine;

/// Runs each of these tests on Open vSwitch.
macro_rules! on_open_vswitch {
    ($($name:ident),+ $(,)?) => {
        mod open_vswitch {
            $(
                #[test]
                fn $name() {
                    crate::support::on_a_node(|node| super::$name(node));
                }
            )+
        }
    };
}
pub(crate) use on_open_vswitch;

/// Runs each of these tests on the simulated VPP, and on a real VPP if available.
macro_rules! on_each_vpp {
    ($($name:ident),+ $(,)?) => {
        crate::support::engine::on_the_simulator!($($name),+);
        mod real_vpp {
            $(
                #[test]
                fn $name() {
                    crate::support::on_a_vpp_node(usnet_test_vpp::Kind::Real, |node| super::$name(node));
                }
            )+
        }
    };
}
pub(crate) use on_each_vpp;

/// Runs each of these tests on the simulated VPP: some need faults that a real one does not have.
macro_rules! on_the_simulator {
    ($($name:ident),+ $(,)?) => {
        mod simulated_vpp {
            $(
                #[test]
                fn $name() {
                    crate::support::on_a_vpp_node(usnet_test_vpp::Kind::Simulator, |node| super::$name(node));
                }
            )+
        }
    };
}
pub(crate) use on_the_simulator;

pub(crate) enum TestEngine {
    OpenVswitch(Box<OpenVswitch>),
    Vpp(Vpp),
}

impl TestEngine {
    pub(crate) fn open_vswitch(builder: Builder) -> Self {
        Self::OpenVswitch(Box::new(builder.start().expect("Open vSwitch")))
    }

    pub(crate) fn kind(&self) -> EngineKind {
        match self {
            Self::OpenVswitch(_) => EngineKind::OpenVswitch,
            Self::Vpp(_) => EngineKind::Vpp,
        }
    }

    /// The engine's control socket.
    pub(crate) fn socket(&self) -> PathBuf {
        match self {
            Self::OpenVswitch(switch) => switch.socket().to_owned(),
            Self::Vpp(vpp) => vpp.socket().to_owned(),
        }
    }

    fn driver(&self) -> Box<dyn BlockingDriver> {
        match self {
            Self::OpenVswitch(switch) => {
                Box::new(ovs::OpenVswitch::new(Client::connect(switch.socket(), AMPLE).unwrap()))
            }
            Self::Vpp(vpp) => Box::new(vpp::Vpp::new(vpp.client().unwrap(), MemifSocketIds::default())),
        }
    }

    /// Applies an operation like the agent.
    fn apply(&self, operation: Op) {
        for answer in self.driver().apply(&[operation]).unwrap() {
            answer.unwrap();
        }
    }

    /// The objects of the engine that usnet owns.
    pub(crate) fn observe(&self) -> Observed {
        self.driver().observe().unwrap()
    }

    /// Creates the bridge of a network.
    pub(crate) fn create_bridge(&self, network: &NodeNetwork) {
        let bridge =
            DesiredBridge::Network { network: network.name.clone(), bridge: network.bridge.clone(), policy_zone: None };
        self.apply(Op::CreateBridge { bridge });
    }

    /// Creates the gateway of a network that has one.
    pub(crate) fn create_gateway(&self, network: &NodeNetwork) {
        let gateway = NetworkGateway::new(network).expect("a network with a gateway");
        let create_table = RoutingOp::CreateTable { network: network.name.clone(), table: gateway.table.clone() };
        self.apply(create_table.into());
        self.apply(RoutingOp::SetGateway { gateway }.into());
    }

    /// Changes the MTU of an attachment's port.
    pub(crate) fn set_port_mtu(&self, record: &Record, mtu: Mtu) {
        let mut port = DesiredPort::of_attachment(record);
        port.settings.mtu = PortMtu::Set(mtu);
        self.apply(Op::UpdatePort { port: port.into() });
    }

    /// Removes the port of an attachment.
    pub(crate) fn remove_port(&self, record: &Record) {
        self.apply(Op::RemovePort {
            bridge: Some(record.port.bridge.to_string()),
            port: record.port.name.clone(),
            owner: PortOwner::new(&record.network, &record.id),
            backend: Some(record.port.backend.clone()),
            interface_index: None,
        });
    }

    /// The names of the ports on a bridge.
    pub(crate) fn ports(&self, bridge: &str) -> Vec<String> {
        match self {
            Self::OpenVswitch(switch) => {
                switch.vsctl(&["list-ports", bridge]).unwrap().lines().map(str::to_owned).collect()
            }
            Self::Vpp(vpp) => VppSnapshot::of(vpp).ports(bridge),
        }
    }

    /// The socket of each port on a bridge.
    pub(crate) fn sockets(&self, bridge: &str) -> Vec<String> {
        let ports = self.ports(bridge);
        match self {
            Self::OpenVswitch(switch) => {
                let columns = ["options:vhost-server-path", "external_ids:\"usnet.dev/socket\""];
                let path =
                    |port| columns.iter().find_map(|column| switch.vsctl(&["get", "Interface", port, column]).ok());
                let path = |port| path(port).expect("a socket");
                ports.iter().map(|port| path(port).trim().trim_matches('"').to_owned()).collect()
            }
            Self::Vpp(vpp) => {
                let observed = VppSnapshot::of(vpp);
                ports.iter().map(|port| observed.socket(port)).collect()
            }
        }
    }

    /// Removes a bridge, with its ports.
    pub(crate) fn remove_bridge(&self, bridge: &str) {
        match self {
            Self::OpenVswitch(switch) => drop(switch.vsctl(&["del-br", bridge]).unwrap()),
            Self::Vpp(vpp) => test_vpp::remove_bridge_domain(vpp, bridge),
        }
    }

    /// Creates a bridge that is not owned by usnet.
    pub(crate) fn add_foreign_bridge(&self, bridge: &str) {
        match self {
            Self::OpenVswitch(switch) => {
                let command = ["add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev"];
                switch.vsctl(&command).unwrap();
            }
            Self::Vpp(vpp) => test_vpp::add_bridge_domain(vpp, bridge),
        }
    }

    /// Kills the process of the engine's control socket, as in a crash.
    pub(crate) fn kill(&mut self) {
        match self {
            Self::OpenVswitch(switch) => switch.kill_ovsdb_server().unwrap(),
            Self::Vpp(vpp) => vpp.kill().unwrap(),
        }
    }

    /// Restarts the engine. VPP loses its state.
    pub(crate) fn start_again(&mut self) {
        match self {
            Self::OpenVswitch(switch) => switch.start_ovsdb_server().unwrap(),
            Self::Vpp(vpp) => vpp.start_again().unwrap(),
        }
    }

    /// Asserts that all objects belong to a bridge.
    #[track_caller]
    pub(crate) fn assert_no_leftovers(&self) {
        if let Self::Vpp(vpp) = self {
            VppSnapshot::of(vpp).assert_no_leftovers();
        }
    }
}
