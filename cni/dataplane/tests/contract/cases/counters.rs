//! Counters of ports, compared with those that the pods have.

use crate::switch::Switch;
use crate::values::{Values, converge, port_name};
use std::time::{Duration, Instant};
use usnet_dataplane::counters::{CounterReader, PortCounters, Traffic};
use usnet_dataplane::engine::EngineError;

/// Open vSwitch counts every five seconds.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many [`send`] sends.
pub(crate) const FRAMES: u64 = 40;

fn reader(switch: &impl Switch) -> CounterReader {
    CounterReader::new(kind(switch), switch.control_socket())
}

fn kind<S: Switch>(_: &S) -> usnet_crds::EngineKind {
    S::KIND
}

fn counters(switch: &impl Switch, container: &str) -> PortCounters {
    let ports = reader(switch).read().expect("counters");
    ports.get(&port_name(container)).expect("the port").clone()
}

fn run(switch: &impl Switch, program: &str, arguments: &[&str]) -> String {
    let output = switch.in_namespace(program).args(arguments).output().expect(program);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The pod's end of a veth pair.
fn device(container: &str) -> String {
    port_name(container).as_str().replace("vhu", "pod")
}

/// What the pod itself counts: received, and sent.
fn of_pod(switch: &impl Switch, container: &str) -> [Traffic; 2] {
    let observed = run(switch, "ip", &["-s", "link", "show", "dev", &device(container)]);
    ["RX:", "TX:"].map(|direction| {
        let line = observed.lines().skip_while(|line| !line.contains(direction)).nth(1).expect("counters");
        let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
        let (bytes, packets) = (numbers.next().flatten(), numbers.next().flatten());
        Traffic { packets, bytes, dropped: Some(0), errors: Some(0) }
    })
}

/// How many frames the pod itself has received.
pub(crate) fn received_by_pod(switch: &impl Switch, container: &str) -> u64 {
    of_pod(switch, container)[0].packets.expect("a count")
}

/// Sends frames from the device of a pod to an address that no pod has, so that they are flooded.
pub(crate) fn send(switch: &impl Switch, container: &str) {
    let device = device(container);
    run(switch, "ip", &["address", "replace", "192.0.2.1/24", "dev", &device]);
    run(switch, "ip", &["neighbor", "replace", "192.0.2.2", "lladdr", "02:00:00:00:00:02", "dev", &device]);
    let script = format!("for frame in $(seq {FRAMES}); do echo $frame > /dev/udp/192.0.2.2/9; done");
    run(switch, "bash", &["-c", &script]);
    // The next sender has the same one.
    run(switch, "ip", &["address", "del", "192.0.2.1/24", "dev", &device]);
}

pub(crate) fn counters_follow_frames(switch: &mut impl Switch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1", "c2"]));
    if !switch.moves_frames() {
        let nothing = Traffic { packets: Some(0), bytes: Some(0), dropped: Some(0), errors: Some(0) };
        assert_eq!(counters(switch, "c1").receive, nothing);
        return;
    }
    send(switch, "c1");
    let end = Instant::now() + TIMEOUT;
    // The kernel's own frames are counted on both sides, and so is what the pods send meanwhile.
    loop {
        let [sender, receiver] = ["c1", "c2"].map(|container| (counters(switch, container), of_pod(switch, container)));
        let expected = [&sender, &receiver].map(|(_, pod)| *pod);
        let found = [&sender, &receiver].map(|(port, _)| [port.receive, port.transmit].map(without_drops));
        let has_sent = expected[0][1].packets >= Some(FRAMES) && expected[1][0].packets >= Some(FRAMES);
        if found == expected && has_sent {
            assert!(sender.0.connected && receiver.0.connected);
            break;
        }
        assert!(Instant::now() < end, "pods: {expected:?}\nports: {found:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Frames that no other port could have got count as dropped on VPP: compared is what arrived.
fn without_drops(traffic: Traffic) -> Traffic {
    Traffic { dropped: Some(0), errors: Some(0), ..traffic }
}

pub(crate) fn a_port_without_a_program_is_not_connected_and_received_nothing(switch: &mut impl Switch) {
    converge(&mut switch.engine(), &switch.desired(&[switch.network("blue")], &["c1"]));
    let counters = counters(switch, "c1");
    // A device is always there.
    assert!(!counters.connected || switch.backend("c1").is_of_kernel(), "{counters:?}");
    assert!(counters.receive.packets.unwrap_or_default() == 0 && counters.drop_causes.is_empty(), "{counters:?}");
    let names: Vec<_> = reader(switch).read().expect("counters").into_keys().collect();
    assert!(names.contains(&port_name("c1")) && !names.contains(&port_name("c2")), "{names:?}");
}

pub(crate) fn an_engine_that_does_not_answer_has_no_counters(switch: &mut impl Switch) {
    let mut reader = reader(switch);
    reader.read().expect("counters");
    switch.kill();
    assert!(matches!(reader.read(), Err(EngineError::Unavailable { .. })));
    switch.restart();
    reader.read().expect("counters again");
}
