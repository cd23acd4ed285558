//! The faults of cables and NICs do in machines what they are called.

use crate::bed::{eventually, run};
use crate::setup::{Driver, Engine, NIC, Setup};
use std::fs;
use usnet_e2e::machines::machine::Machine;
use usnet_e2e::machines::model::NicModel;
use usnet_e2e::machines::pair::{Pair, PairSpec};

/// The length of a file in the format of pcap without frames.
const EMPTY_CAPTURE: u64 = 24;

#[test]
fn machines_lose_frames_cables_and_nics_on_demand() {
    let setup = Setup::new(Engine::Ovs, Driver::AfPacket, NicModel::Virtio);
    let Some(packages) = setup.packages() else { return };
    let nics = vec![NicModel::Virtio; NIC + 1];
    let pair = Pair::start(&packages, &PairSpec { nics, ..PairSpec::default() }).unwrap();
    for (number, machine) in pair.both().into_iter().enumerate() {
        run(machine, &format!("ip address add 10.0.0.{}/24 dev eth1 && ip link set eth1 up", number + 1));
    }
    let ping = |count| ping(&pair.left, count);
    eventually("machines reach each other", || ping(1));
    let file = pair.folder().join("capture.pcap");
    pair.left.capture(NIC, &file).unwrap();
    ping(2).unwrap();
    pair.left.end_capture(NIC).unwrap();
    assert!(fs::metadata(&file).unwrap().len() > EMPTY_CAPTURE);
    pair.left.set_silent_loss(NIC, true).unwrap();
    ping(2).unwrap_err();
    assert_eq!(carrier(&pair.left), "1");
    pair.left.set_silent_loss(NIC, false).unwrap();
    eventually("frames are passed on again", || ping(1));
    pair.left.set_carrier(NIC, false).unwrap();
    eventually("this end has no carrier", || is(&carrier(&pair.left), "0"));
    assert_eq!(carrier(&pair.right), "1");
    pair.left.set_carrier(NIC, true).unwrap();
    eventually("this end has a carrier", || is(&carrier(&pair.left), "1"));
    pair.left.unplug(NIC).unwrap();
    run(&pair.left, "! ip link show eth1 2>/dev/null");
    pair.left.plug(NIC).unwrap();
    eventually("the NIC is back", || pair.left.run("ip link show eth1").map_err(|error| error.to_string()));
}

fn ping(machine: &Machine, count: u8) -> Result<(), String> {
    machine.run(&format!("busybox ping -c {count} -W 2 10.0.0.2")).map(drop).map_err(|error| error.to_string())
}

fn carrier(machine: &Machine) -> String {
    run(machine, "cat /sys/class/net/eth1/carrier").trim().to_owned()
}

fn is(found: &str, wanted: &str) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(found.to_owned()) }
}
