//! The engine, driver and NIC of a test.

use crate::report;
use serde_json::{Value, json};
use std::fmt;
use usnet_e2e::engines::vpp_program::VppProgram;
use usnet_e2e::machines::model::NicModel;
use usnet_e2e::machines::packages::Packages;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Ovs,
    Vpp,
}

impl Engine {
    /// As in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ovs => "OVS",
            Self::Vpp => "VPP",
        }
    }
}

/// How the engine drives the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Driver {
    AfPacket,
    AfXdp,
    Dpdk,
}

impl Driver {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AfPacket => "AFPacket",
            Self::AfXdp => "AFXDP",
            Self::Dpdk => "DPDK",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) engine: Engine,
    pub(crate) driver: Driver,
    pub(crate) model: NicModel,
}

/// The NIC of uplinks. The other one is for the same set-up made by hand.
pub(crate) const NIC: usize = 1;
pub(crate) const PCI: &str = "0000:02:00.0";

impl Setup {
    pub(crate) const fn new(engine: Engine, driver: Driver, model: NicModel) -> Self {
        Self { engine, driver, model }
    }

    /// What is needed for it; none if this machine has it not, which is printed and counted.
    pub(crate) fn packages(&self) -> Option<Packages> {
        let found = Packages::find().and_then(|packages| packages.check(self.model).map(|()| packages));
        let found = found.and_then(|packages| match (self.engine, VppProgram::find()) {
            (Engine::Vpp, VppProgram::Simulator) => Err("there is no VPP on this machine".to_owned()),
            _ => Ok(packages),
        });
        found.inspect_err(|why| self.skip(why)).ok()
    }

    fn skip(&self, why: &str) {
        println!("SKIPPED: {self}: {why}");
        report::row("Left out", &["set-up", "why"], vec![self.to_string(), why.to_owned()]);
    }

    /// An uplink with the NIC, and two networks on it: one with a VLAN, one without.
    pub(crate) fn manifests(&self, device: &Value) -> String {
        let driver = match self.driver {
            Driver::AfPacket | Driver::AfXdp => json!({"driver": self.driver.name()}),
            Driver::Dpdk => json!({"driver": "DPDK", "dpdk": {"bind": "WhenFree"}}),
        };
        let mut nic = driver;
        nic["device"] = device.clone();
        let kind = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "usnet.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        let network = |name: &str, vlan: Option<u16>| {
            let mut uplink = json!({"name": "fab"});
            if let Some(vlan) = vlan {
                uplink["vlan"] = vlan.into();
            }
            let topology = json!({"type": "Uplink", "uplink": uplink});
            let spec = json!({
                "engine": self.engine.name(), "namespaceSelector": {}, "port": {"type": "Veth"}, "topology": topology,
            });
            kind("UserspaceNetwork", name, spec)
        };
        let uplink =
            kind("UserspaceUplink", "fab", json!({"engine": self.engine.name(), "nics": [nic], "vlans": ["142"]}));
        let documents = [uplink, network("tagged", Some(142)), network("untagged", None)];
        documents.map(|document| document.to_string()).join("\n---\n")
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}, {}", self.engine.name(), self.driver.name(), self.model)
    }
}
