//! NICs that the agent takes from their drivers: which ones, and that they are given back.

use crate::bed::{Bed, eventually, run};
use crate::setup::{Driver, Engine, PCI, Setup};
use serde_json::json;
use usnet_e2e::machines::machine::Machine;
use usnet_e2e::machines::model::NicModel;

/// The NIC that no uplink names.
const OTHER: &str = "0000:01:00.0";

fn driver_of(machine: &Machine, pci: &str) -> String {
    run(machine, &format!("basename $(readlink /sys/bus/pci/devices/{pci}/driver)")).trim().to_owned()
}

/// Whether a program has a NIC: the kernel lets only one open its group.
fn is_had(machine: &Machine, pci: &str) -> bool {
    let group = format!("/dev/vfio/$(basename $(readlink /sys/bus/pci/devices/{pci}/iommu_group))");
    run(machine, &format!("(exec 3<>{group}) 2>/dev/null && echo free || echo had")).trim() == "had"
}

fn start_agent(bed: &Bed, machine: &Machine) {
    run(machine, &format!("/machine/node agent {}", bed.program("usnet")));
}

/// Another NIC is on vfio-pci, as one of a pod would be: Open vSwitch does not take it, also when
/// it is started again.
#[test]
fn a_nic_that_no_uplink_names_is_never_taken() {
    let setup = Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::E1000e);
    let Some(bed) = Bed::start(setup) else { return };
    bed.start_agents();
    let machine = &bed.pair.left;
    run(machine, &format!("/machine/node driver {OTHER} vfio-pci"));
    let manifests = setup.manifests(&json!({"type": "PciAddress", "pciAddress": PCI}));
    Bed::apply(machine, &manifests);
    Bed::await_uplink(machine, "Programmed", "");
    assert!(is_had(machine, PCI) && !is_had(machine, OTHER));
    run(machine, "kill -9 $(cat /run/ovs-vswitchd.pid); /machine/node vswitchd");
    eventually("the switch has the NIC again", || is_had(machine, PCI).then_some(()).ok_or_else(String::new));
    assert!(!is_had(machine, OTHER));
    assert_eq!(driver_of(machine, OTHER), "vfio-pci", "it stays as its owner bound it");

    // Without a list of allowed devices, the switch would have taken it.
    Bed::apply(machine, "");
    Bed::await_no_uplink(machine);
    run(machine, "ovs-vsctl remove Open_vSwitch . other_config dpdk-extra");
    Bed::apply(machine, &manifests);
    let (report, _) = Bed::await_uplink(machine, "Failed", "EngineTakesDevices");
    assert!(report["message"].as_str().unwrap().contains(OTHER), "{report}");
    assert!(!is_had(machine, OTHER));
}

/// The agent is killed between the moment at which it has taken a NIC and that at which the switch
/// has it, and the uplink is removed before another agent starts.
#[test]
fn a_later_agent_gives_a_nic_back() {
    let setup = Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::E1000e);
    let Some(bed) = Bed::start(setup) else { return };
    bed.start_agents();
    let machine = &bed.pair.left;
    let before = Bed::nics(machine);
    let kill = format!(
        "(until [ \"$(basename $(readlink /sys/bus/pci/devices/{PCI}/driver))\" = vfio-pci ]; do :; done; \
         kill -9 $(cat /run/agent.pid); echo killed >/run/killed) >/dev/null 2>&1 &"
    );
    run(machine, &kill);
    Bed::apply(machine, &setup.manifests(&json!({"type": "Name", "name": "eth1"})));
    eventually("the agent is killed", || machine.run("cat /run/killed").map_err(|error| error.to_string()));
    assert_eq!(driver_of(machine, PCI), "vfio-pci");
    run(machine, "rm /machine/manifests/all.yaml");
    start_agent(&bed, machine);
    eventually("the NIC is as found", || match Bed::nics(machine) {
        now if now == before => Ok(()),
        now => Err(now),
    });
    assert_eq!(driver_of(machine, PCI), "e1000e");
}
