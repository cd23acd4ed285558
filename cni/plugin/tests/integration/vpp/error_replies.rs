//! A VPP that returns errors, that is too old for a message, or that restarts in the middle. Only
//! the simulator does so on demand.

use crate::support::engine::on_the_simulator;
use crate::support::{NETWORK, TestNode, port_types};
use std::collections::BTreeSet;
use usnet_test_vpp::{Breakage, Fault, LogEntry, Moment, Simulator};

on_the_simulator! {
    an_error_reply_of_vpp_fails_add_and_leaves_nothing,
    a_rollback_that_vpp_rejects_is_completed_by_del,
    a_missing_message_is_reported_or_not_needed,
    a_restart_of_vpp_during_add_is_reported_and_leaves_nothing,
    a_slow_vpp_gets_every_message_once,
}

/// The return code of VPP's "unspecified error".
const REFUSED: i32 = -1;

fn simulator(node: &TestNode) -> &Simulator {
    node.vpp().simulator().expect("a simulator that runs")
}

/// The messages of an ADD and a DEL of the pod.
fn messages(node: &TestNode) -> [Vec<LogEntry>; 2] {
    let pod = node.pod("p");
    let before = simulator(node).log().len();
    node.add(&pod, "net1").result();
    let between = simulator(node).log().len();
    node.del(&pod, "net1").assert_done();
    let mut all = simulator(node).log();
    let of_del = all.split_off(between);
    [all.split_off(before), of_del]
}

fn changes(messages: &[LogEntry]) -> u64 {
    messages.iter().filter(|entry| entry.changes).count().try_into().unwrap()
}

/// The numbers of the changes whose reply matters. VPP's reply to the filter is ignored: its state
/// is read back, and a port without a VLAN has no filter.
fn answered(messages: &[LogEntry]) -> Vec<u64> {
    let changes = (1..).zip(messages.iter().filter(|entry| entry.changes));
    changes.filter(|(_, entry)| entry.message != "l2_interface_efp_filter").map(|(nth, _)| nth).collect()
}

fn an_error_reply_of_vpp_fails_add_and_leaves_nothing(node: &mut TestNode) {
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let changes = answered(&messages(node)[0]);
        assert!(changes.len() > 3, "{changes:?} are no ADD");
        for nth in changes {
            simulator(node).fault(Fault::Fail { nth, retval: REFUSED });
            let error = node.add(&node.pod("p"), "net1").error();
            assert!(error.to_string().contains("VPP refused"), "{port:?}, change {nth}: {error}");
            node.assert_clean();
        }
    }
}

/// One change of ADD fails, and one change of its rollback.
fn a_rollback_that_vpp_rejects_is_completed_by_del(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let [of_add, of_del] = messages(node);
        for nth in answered(&of_add) {
            for more in 1..=changes(&of_del) {
                simulator(node).fault(Fault::Fail { nth, retval: REFUSED });
                simulator(node).fault(Fault::Fail { nth: nth + more, retval: REFUSED });
                node.add(&pod, "net1").error();
                simulator(node).clear_faults();
                node.del(&pod, "net1").assert_done();
                node.assert_clean();
            }
        }
    }
}

/// VPP lacks each message that an ADD or DEL uses, one after the other. For some messages there is
/// an older version. Every VPP has the ping that ends a dump.
fn a_missing_message_is_reported_or_not_needed(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let used = messages(node).concat();
        let used: BTreeSet<&str> =
            used.iter().map(|entry| entry.message).filter(|name| *name != "control_ping").collect();
        let mut reported = 0;
        for missing in &used {
            simulator(node).fault(Fault::Missing((*missing).to_owned()));
            let output = node.add(&pod, "net1");
            simulator(node).clear_faults();
            output.assert_in_time();
            if !output.output.status.success() {
                reported += 1;
                let error = output.error().to_string();
                let advises = |remedy| error.contains(missing) && error.contains(remedy);
                assert!(advises("use VPP 26.06") || advises("_plugin.so"), "without {missing}: {error}");
                // An ADD that cannot read the objects of VPP leaves its files to DEL.
                assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (0, 0));
                node.engine.assert_no_leftovers();
            }
            node.del(&pod, "net1").assert_done();
            node.assert_clean();
        }
        assert!(reported > 3, "only {reported} of {used:?} are needed");
    }
}

fn a_restart_of_vpp_during_add_is_reported_and_leaves_nothing(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let count = messages(node)[0].len().try_into().unwrap();
        for nth in 1..=count {
            for when in [Moment::Before, Moment::After] {
                simulator(node).fault(Fault::Break { how: Breakage::Restart, when, nth });
                let message = node.add(&pod, "net1").message(11);
                assert!(message.contains("VPP"), "{port:?}, {when:?} message {nth}: {message}");
                node.assert_clean();
                node.program_network_with(NETWORK, &port, None);
            }
        }
        node.add(&pod, "net1").result();
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    }
}

fn a_slow_vpp_gets_every_message_once(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in port_types::all() {
        node.program_network_with(NETWORK, &port, None);
        let expected = messages(node);
        simulator(node).fault("slow 20".parse().unwrap());
        let observed = messages(node);
        simulator(node).clear_faults();
        let names =
            |messages: [Vec<LogEntry>; 2]| messages.map(|all| all.iter().map(|it| it.message).collect::<Vec<_>>());
        assert_eq!(names(observed), names(expected));
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    }
}
