//! Programs with several queues: frames of many flows use all of them, in both directions.

use crate::switch::Switch;
use crate::testpmd::{QueuePackets, Testpmd};
use crate::values::{Values, apply, bridge, converge, observe, port_name};
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::{NodeNetwork, Queues};
use usnet_dataplane::observed::Peer;
use usnet_dataplane::plan::diff;

const TIMEOUT: Duration = Duration::from_secs(60);
const PACKETS: u64 = 20_000;

/// Waits until a check is true. The switch is brought to the desired state meanwhile, as by an
/// agent: again and again, because a program's queues come one after the other.
fn until(switch: &impl Switch, network: &NodeNetwork, what: &str, mut check: impl FnMut() -> Result<(), String>) {
    let desired = switch.desired(std::slice::from_ref(network), &["c1", "c2"]);
    let end = Instant::now() + TIMEOUT;
    while let Err(found) = check() {
        assert!(Instant::now() < end, "{what}: {found}");
        let mut engine = switch.engine();
        let operations = diff(&desired, &observe(&mut engine));
        apply(&mut engine, &operations);
        sleep(Duration::from_millis(100));
    }
}

/// Whether each queue has its part of the packets: 40 to 60 % with two of them.
fn are_shared(counts: &[u64]) -> Result<(), String> {
    let all: u64 = counts.iter().sum();
    let is_fair = counts.iter().all(|count| (all * 2..=all * 3).contains(&(count * 5)));
    if counts.len() == 2 && all >= PACKETS && is_fair { Ok(()) } else { Err(format!("{counts:?}")) }
}

/// The packets of a program since it was asked before.
fn since(program: &Testpmd, before: &[QueuePackets]) -> Vec<QueuePackets> {
    let earlier = before.iter().copied().chain(std::iter::repeat(QueuePackets::default()));
    let now = program.packets().into_iter().zip(earlier);
    now.map(|(now, then)| QueuePackets { received: now.received - then.received, sent: now.sent - then.sent }).collect()
}

pub(crate) fn frames_of_many_flows_use_all_queues_in_both_directions(switch: &mut impl Switch) {
    if !switch.moves_frames() || !Testpmd::is_installed() {
        return;
    }
    let mut blue = switch.network("blue");
    blue.port.queues = Queues::try_from(2).expect("a number");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    let backends = ["c1", "c2"].map(|container| switch.backend(container));
    let folder = switch.control_socket().parent().expect("its folder").to_owned();
    let program = |index: usize, arguments: &[&str]| {
        let backend: &usnet_dataplane::port::PortBackend = &backends[index];
        Testpmd::start(&folder, &format!("{index}"), backend.of_pod().expect("a pod's port"), 2, arguments)
    };
    let mut receiver = program(1, &["--forward-mode=rxonly"]);
    let mut sender = program(0, &["--forward-mode=flowgen", "--flowgen-flows=64"]);
    until(switch, &blue, "no programs", || {
        let observed = observe(&mut switch.engine());
        let ports = &observed.bridges[bridge(&blue)].ports;
        let are_there = ["c1", "c2"].iter().all(|container| ports[&port_name(container)].peer == Peer::Connected);
        if are_there { Ok(()) } else { Err(format!("{}\n{}", sender.output(), receiver.output())) }
    });
    // What arrived before all queues were used does not count.
    until(switch, &blue, "a queue of the receiver gets nothing", || {
        receiver.ask();
        let packets = receiver.packets();
        let are_used = packets.len() == 2 && packets.iter().all(|queue| queue.received > 0);
        if are_used { Ok(()) } else { Err(format!("{packets:?}\n{}", receiver.output())) }
    });
    let before = [&sender, &receiver].map(Testpmd::packets);
    until(switch, &blue, "the queues are not used alike", || {
        sender.ask();
        receiver.ask();
        let (sent, received) = (since(&sender, &before[0]), since(&receiver, &before[1]));
        are_shared(&sent.iter().map(|queue| queue.sent).collect::<Vec<_>>())?;
        are_shared(&received.iter().map(|queue| queue.received).collect::<Vec<_>>())
    });
}
