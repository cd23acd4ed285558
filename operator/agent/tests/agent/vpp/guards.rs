//! Networks with `antiSpoofing`: the guards of ports are kept, and follow their network.

use super::on_each_vpp;
use super::testbed::{VppTestbed, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use serde_json::json;
use usnet_crds::{AntiSpoofing, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::engine::BlockingDriver;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::port::ObservedSettings;
use usnet_dataplane::vpp::Vpp as Driver;
use usnet_test_vpp::{Fault, Kind, Vpp};
use usnet_vpp::messages::{ClassifyTableByInterface, ClassifyTableIds, InputAclSetInterface, NO_TABLE};

on_each_vpp!(
    a_guard_is_repaired_and_follows_its_network_in_place,
    a_port_is_not_up_without_its_guard_after_a_restart,
    a_new_agent_changes_no_guard,
);

/// What the pods of these tests may send from.
const BY_ADDRESS: &str = "02:00:00:00:00:01 10.0.0.2";
const BY_MAC: &str = "02:00:00:00:00:01 any";

fn guarded(generation: i64, anti_spoofing: AntiSpoofing) -> NodeNetwork {
    let mut blue = NodeNetwork { generation, ..network("blue") };
    (blue.bridge.is_guarded, blue.port.anti_spoofing) = (anti_spoofing != AntiSpoofing::Off, anti_spoofing);
    blue
}

/// The settings of the port of a pod, if VPP answers and has it on the bridge of its network.
fn settings(testbed: &VppTestbed, pod: &Record) -> Option<ObservedSettings> {
    let mut driver = Driver::new(testbed.vpp.client().ok()?, MemifSocketIds::default());
    let observed = BlockingDriver::observe(&mut driver).ok()?;
    let port = observed.bridges.get(pod.port.bridge.as_str())?.ports.get(&pod.port.name)?;
    Some(port.settings.clone())
}

/// Waits until the port of a pod is up and has this guard.
fn wait_for_guard(testbed: &VppTestbed, pod: &Record, guard: Option<&str>) {
    until(&format!("{} has the guard {guard:?}", pod.id), || {
        let found = settings(testbed, pod)?;
        (found.is_enabled && found.guard.map(|guard| guard.to_string()).as_deref() == guard).then_some(())
    });
}

/// The network with one attached pod, whose port has its guard.
fn with_pod(testbed: &VppTestbed) -> (RunningAgent, Record) {
    let agent = RunningAgent::start(&testbed.paths);
    let blue = guarded(1, AntiSpoofing::Address);
    agent.set_spec(1, std::slice::from_ref(&blue));
    testbed.wait_until_programmed("blue");
    let pod = testbed.pod("c1", &blue);
    testbed.write(&pod);
    wait_for_guard(testbed, &pod, Some(BY_ADDRESS));
    (agent, pod)
}

fn tables(testbed: &VppTestbed) -> Vec<u32> {
    testbed.request(ClassifyTableIds {}).ids
}

fn a_guard_is_repaired_and_follows_its_network_in_place(testbed: &VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    let sw_if_index = testbed.wait_for_port(&pod).sw_if_index;
    let l2_table_index = testbed.request(ClassifyTableByInterface { sw_if_index }).l2_table_id;
    let (ip4_table_index, ip6_table_index) = (NO_TABLE, NO_TABLE);
    let unset = InputAclSetInterface { sw_if_index, ip4_table_index, ip6_table_index, l2_table_index, is_add: false };
    // Nothing says any longer that they are of this port, so that they stay.
    let orphans = tables(testbed);
    testbed.request(unset);
    wait_for_guard(testbed, &pod, Some(BY_ADDRESS));

    let mut with_pairs = guarded(2, AntiSpoofing::Address);
    let pairs = json!([{"ip": "10.0.0.99"}, {"ip": "10.0.0.100", "mac": "00:00:5e:00:01:05"}]);
    let attachment = json!({"namespace": "default", "pod": "c1", "allowedAddressPairs": pairs});
    with_pairs.attachments = vec![serde_json::from_value(attachment).unwrap()];
    agent.set_spec(2, &[with_pairs]);
    let expected = format!("{BY_ADDRESS} 10.0.0.99 10.0.0.100@00:00:5e:00:01:05");
    wait_for_guard(testbed, &pod, Some(&expected));

    for (generation, anti_spoofing, guard) in
        [(3, AntiSpoofing::Mac, Some(BY_MAC)), (4, AntiSpoofing::Off, None), (5, AntiSpoofing::Mac, Some(BY_MAC))]
    {
        agent.set_spec(generation, &[guarded(generation.into(), anti_spoofing)]);
        wait_for_guard(testbed, &pod, guard);
        let is_done = || (tables(testbed).len() == orphans.len()) == guard.is_none();
        until("tables that are not used are deleted", || is_done().then_some(()));
    }
    assert_eq!(testbed.wait_for_port(&pod).sw_if_index, sw_if_index, "the port was recreated");
    let entry = agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    assert!(entry.degraded.is_empty(), "{entry:?}");
}

fn a_port_is_not_up_without_its_guard_after_a_restart(testbed: &mut VppTestbed) {
    let (_agent, pod) = with_pod(testbed);
    testbed.vpp.kill().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    testbed.vpp.start_again().unwrap();
    let guard = until("the port is up", || {
        let found = settings(testbed, &pod)?;
        found.is_enabled.then_some(found.guard)
    });
    assert_eq!(guard.map(|guard| guard.to_string()).as_deref(), Some(BY_ADDRESS));
    if let Some(simulator) = testbed.vpp.simulator() {
        let log = simulator.log();
        let last = |message: &str| log.iter().rposition(|entry| entry.message == message);
        assert!(last("input_acl_set_interface") < last("sw_interface_set_flags"), "{log:?}");
    }
}

fn a_new_agent_changes_no_guard(testbed: &VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    drop(agent);
    let observed = || (testbed.wait_for_port(&pod), tables(testbed), testbed.changes());
    let before = observed();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(2, &[guarded(1, AntiSpoofing::Address)]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(observed(), before);
}

#[test]
fn before_26_06_a_network_that_asks_for_guards_fails_with_that_reason() {
    let too_old = Fault::Missing("l2_flags_get".to_owned());
    let testbed = VppTestbed::with(Vpp::builder(Kind::Simulator).fault(too_old));
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[guarded(1, AntiSpoofing::Mac), network("green")]);
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnsuitable");
    testbed.wait_until_programmed("green");
    let entry = agent.wait_for_network("blue", "says why", |entry| entry.reason == "EngineUnsuitable");
    assert!(entry.message.contains("antiSpoofing needs VPP 26.06"), "{}", entry.message);
    agent.set_spec(2, &[guarded(2, AntiSpoofing::Off)]);
    testbed.wait_until_programmed("blue");
}
