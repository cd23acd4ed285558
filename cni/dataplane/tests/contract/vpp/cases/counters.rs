//! Counters of ports whose programs stop, and of ports that come and go.

use super::traffic::{connect, generate};
use crate::switch::Switch;
use crate::values::{Values, converge, port_name};
use crate::vpp::switch::VppSwitch;
use std::time::{Duration, Instant};
use usnet_dataplane::counters::{CounterReader, PortCounters};
use usnet_test_vpp::Vpp;

const TIMEOUT: Duration = Duration::from_secs(20);
/// More than the ring of a memif has room for, however many are taken meanwhile.
const FRAMES: u64 = 3000;

fn counters(switch: &VppSwitch, container: &str) -> PortCounters {
    let mut reader = CounterReader::new(VppSwitch::KIND, switch.control_socket());
    reader.read().expect("counters").remove(&port_name(container)).expect("the port")
}

/// How many frames the program of the second container has got.
fn arrived(programs: &Vpp) -> u64 {
    let output = programs.cli("show interface memif2/0").expect("a command");
    let line = output.lines().find_map(|line| line.split("rx packets").nth(1));
    line.map_or(0, |count| count.trim().parse().expect("a number"))
}

pub(crate) fn a_pod_with_a_full_ring_received_what_its_program_saw(switch: &mut VppSwitch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1", "c2"]));
    let programs = connect(switch, &["c1", "c2"]);
    assert!(counters(switch, "c2").connected);
    programs.pause().expect("pause");
    generate(switch, "c1", FRAMES);
    programs.resume().expect("resume");
    let (sender, receiver) = (counters(switch, "c1"), counters(switch, "c2"));
    assert_eq!(sender.transmit.packets, Some(FRAMES));
    let (received, dropped) = (receiver.receive.packets.expect("counted"), receiver.receive.dropped.expect("counted"));
    assert_eq!(received + dropped, FRAMES, "{receiver:?}");
    assert_eq!(receiver.drop_causes.get("no_free_slots"), Some(&dropped), "{receiver:?}");
    let end = Instant::now() + TIMEOUT;
    while arrived(&programs) < received {
        assert!(Instant::now() < end, "{} of {received} frames arrived", arrived(&programs));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(arrived(&programs), received);
}

pub(crate) fn interfaces_that_come_and_go_do_not_mix_their_counters(switch: &mut VppSwitch) {
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let first = switch.other_client().interface(&port_name("c1"));
    let (index, name) = (first.sw_if_index, first.interface_name);
    let simulator = switch.vpp().simulator().expect("a simulator");
    simulator.count("/if/rx", index, 7, 448);
    simulator.count("/if/tx", index, 9, 576);
    simulator.count_errors(&format!("/err/{}-tx/no_free_slots", name.as_str()), 4);
    let of_first = counters(switch, "c1");
    assert_eq!(
        (of_first.transmit.packets, of_first.receive.packets, of_first.receive.dropped),
        (Some(7), Some(5), Some(4))
    );
    // The next port gets the index of the first one.
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
    converge(&mut switch.engine(), &switch.desired(&[blue], &["c2"]));
    assert_eq!(switch.other_client().interface(&port_name("c2")).sw_if_index, index);
    let of_second = counters(switch, "c2");
    assert_eq!((of_second.transmit.packets, of_second.receive.packets), (Some(0), Some(0)));
    assert!(of_second.drop_causes.is_empty(), "{of_second:?}");
}
