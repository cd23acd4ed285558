//! The engines for the plugin's tests, each started for one test.

use super::vpp::{self as test_vpp, VppSnapshot};
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::plan::Op;
use usnet_dataplane::{ovs, vpp};
use usnet_ovsdb::blocking::Client;
use usnet_test_openvswitch::{Builder, OpenVswitch};
use usnet_test_vpp::Vpp;

const AMPLE: Duration = Duration::from_secs(30);

/// Runs each of these tests on Open vSwitch, on the simulated VPP, and on a real VPP if available.
macro_rules! on_each_engine {
    ($($name:ident),+ $(,)?) => {
        mod open_vswitch {
            $(
                #[test]
                fn $name() {
                    crate::support::on_a_node(|node| super::$name(node));
                }
            )+
        }
        crate::support::engine::on_each_vpp!($($name),+);
    };
}
pub(crate) use on_each_engine;

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

/// Runs each of these tests only on the simulated VPP, because they need faults that a real one
/// does not have.
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

    /// Applies an operation like the agent.
    pub(crate) fn apply(&self, operation: Op) {
        match self {
            Self::OpenVswitch(switch) => {
                apply(ovs::OpenVswitch::new(Client::connect(switch.socket(), AMPLE).unwrap()), operation);
            }
            Self::Vpp(vpp) => apply(vpp::Vpp::new(vpp.client().unwrap(), MemifSocketIds::default()), operation),
        }
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
                let path = |port| switch.vsctl(&["get", "Interface", port, "options:vhost-server-path"]).unwrap();
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

    /// Restarts it. VPP loses its state.
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

fn apply(mut driver: impl BlockingDriver, operation: Op) {
    for answer in driver.apply(&[operation]).unwrap() {
        answer.unwrap();
    }
}
