//! How an uplink names its NIC: each way finds the same one, for each model.

use crate::bed::{Bed, run};
use crate::setup::{Driver, Engine, PCI, Setup};
use serde_json::{Value, json};
use usnet_e2e::machines::model::NicModel;

#[test]
fn name_mac_address_and_pci_address_identify_an_e1000e() {
    identifies(NicModel::E1000e);
}

#[test]
fn name_mac_address_and_pci_address_identify_an_igb() {
    identifies(NicModel::Igb);
}

#[test]
fn name_mac_address_and_pci_address_identify_a_virtio_nic() {
    identifies(NicModel::Virtio);
}

fn identifies(model: NicModel) {
    let setup = Setup::new(Engine::Ovs, Driver::AfPacket, model);
    let Some(bed) = Bed::start(setup) else { return };
    bed.start_agents();
    let machine = &bed.pair.left;
    let before = Bed::nics(machine);
    let mac = run(machine, "cat /sys/class/net/eth1/address");
    let devices: [Value; 3] = [
        json!({"type": "Name", "name": "eth1"}),
        json!({"type": "MacAddress", "macAddress": mac.trim()}),
        json!({"type": "PciAddress", "pciAddress": PCI}),
    ];
    for device in devices {
        Bed::apply(machine, &setup.manifests(&device));
        let (report, took) = Bed::await_uplink(machine, "Programmed", "");
        println!("{model}: {device}: {report} after {:.1} s", took.as_secs_f32());
        assert_eq!(report["nic"], "eth1", "{device}");
        Bed::apply(machine, "");
        Bed::await_no_uplink(machine);
        assert_eq!(Bed::nics(machine), before);
    }
}
