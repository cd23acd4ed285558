//! Networks with policies: the agent opens the ports of their pods, and keeps what they may have.

use super::on_each_vpp;
use super::testbed::{VppTestbed, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use std::collections::BTreeSet;
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};
use usnet_crds::{AntiSpoofing, CompiledPolicySpec, NodeNetwork, Policies};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::vpp::policy::rule_set::{Permit, RuleSet, Service};
use usnet_dataplane::vpp::policy::rules::{PortRules, closed, compile};
use usnet_test_vpp::{Fault, Kind, Vpp};
use usnet_vpp::messages::{AclDump, AclInterfaceListDump, AclInterfaceSetAclList, ByDirection, NO_ACL};

on_each_vpp!(
    a_new_port_is_closed_until_policies_are_known_and_follows_them,
    what_others_remove_is_restored_and_a_new_agent_changes_nothing,
    ports_have_their_policies_again_after_a_restart,
    a_network_that_gets_and_loses_policies_keeps_its_ports,
    sessions_are_a_metric_while_vpp_has_policies,
);

/// The metrics of sessions.
const SESSIONS: [&str; 2] = ["usnet_agent_policy_sessions", "usnet_agent_policy_sessions_max"];
/// What VPP has unless its `startup.conf` says otherwise.
const SESSIONS_MAX: f64 = 500_000.0;

fn blue(generation: i64, policies: Policies) -> NodeNetwork {
    let mut blue = NodeNetwork { generation, policies, ..network("blue") };
    (blue.bridge.is_guarded, blue.port.anti_spoofing) = (true, AntiSpoofing::Address);
    blue
}

/// Pods of `default` get what comes from this prefix.
fn from(prefix: &str) -> Vec<CompiledPolicySpec> {
    let peers = PeerAddresses::Within([prefix.parse().unwrap()].into());
    let rule = PolicyRule { peers, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any };
    let (namespace, name) = ("default".parse().unwrap(), "p".to_owned());
    let policy = Policy { namespace, name, pods: None, ingress: Some(vec![rule]), egress: None };
    vec![CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)]
}

/// The rules for that.
fn allowing(prefix: &str) -> PortRules {
    let permit = Permit { peer: prefix.parse().unwrap(), service: Service::Any };
    compile(&RuleSet { ingress: Some([permit].into()), egress: None }, None)
}

fn lists(testbed: &VppTestbed, pod: &Record) -> ByDirection<u32> {
    let sw_if_index = testbed.wait_for_port(pod).sw_if_index;
    let found = testbed.dump(AclInterfaceListDump { sw_if_index });
    found.into_iter().find(|found| found.sw_if_index == sw_if_index).map(|found| found.acls).unwrap_or_default()
}

/// The rules of the port of a pod; `None` without any.
fn rules(testbed: &VppTestbed, pod: &Record) -> Option<PortRules> {
    let lists = lists(testbed, pod);
    let acls = testbed.dump(AclDump { acl_index: NO_ACL });
    let rules = |list: &[u32]| match list {
        [only] => acls.iter().find(|acl| acl.acl_index == *only).map(|acl| acl.rules.clone()),
        _ => None,
    };
    Some(PortRules { input: rules(&lists.input)?, output: rules(&lists.output)? })
}

fn wait_for(testbed: &VppTestbed, pod: &Record, expected: Option<&PortRules>) {
    until("the port has its rules", || (rules(testbed, pod).as_ref() == expected).then_some(()));
}

/// The network has policies, and these are known. An agent forgets those that no network needs.
fn enable(agent: &RunningAgent, generation: i64) {
    agent.set_spec(u32::try_from(generation).unwrap(), &[blue(generation, Policies::Enabled)]);
    agent.wait_for_network("blue", "needs policies", |entry| entry.reason == "PoliciesUnknown");
    agent.set_policies(from("10.9.0.0/24"));
}

/// The network with an attached pod, and policies by which it gets what comes from a prefix.
fn with_pod(testbed: &VppTestbed) -> (RunningAgent, Record) {
    let agent = RunningAgent::start(&testbed.paths);
    enable(&agent, 1);
    testbed.wait_until_programmed("blue");
    let pod = testbed.pod("c1", &blue(1, Policies::Enabled));
    testbed.write(&pod);
    wait_for(testbed, &pod, Some(&allowing("10.9.0.0/24")));
    (agent, pod)
}

fn a_new_port_is_closed_until_policies_are_known_and_follows_them(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue(1, Policies::Enabled)]);
    let entry = agent.wait_for_network("blue", "says why", |entry| entry.reason == "PoliciesUnknown");
    assert!(entry.message.contains("config/components/policies"), "{}", entry.message);
    let pod = testbed.pod("c1", &blue(1, Policies::Enabled));
    testbed.write(&pod);
    wait_for(testbed, &pod, Some(&closed()));
    agent.set_policies(from("10.9.0.0/24"));
    wait_for(testbed, &pod, Some(&allowing("10.9.0.0/24")));
    testbed.wait_until_programmed("blue");
    agent.set_policies(from("10.8.0.0/24"));
    wait_for(testbed, &pod, Some(&allowing("10.8.0.0/24")));
    agent.set_policies(Vec::new());
    wait_for(testbed, &pod, None);
    until("no access list is left", || testbed.dump(AclDump { acl_index: NO_ACL }).is_empty().then_some(()));
}

fn what_others_remove_is_restored_and_a_new_agent_changes_nothing(testbed: &VppTestbed) {
    let (agent, pod) = with_pod(testbed);
    let sw_if_index = testbed.wait_for_port(&pod).sw_if_index;
    testbed.request(AclInterfaceSetAclList { sw_if_index, acls: ByDirection::default() });
    wait_for(testbed, &pod, Some(&allowing("10.9.0.0/24")));
    agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    until("nothing but what is used is left", || {
        (testbed.dump(AclDump { acl_index: NO_ACL }).len() == 2).then_some(())
    });
    drop(agent);
    let observed = || (lists(testbed, &pod), testbed.dump(AclDump { acl_index: NO_ACL }), testbed.changes());
    let before = observed();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(2, &[blue(1, Policies::Enabled)]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    agent.set_policies(from("10.9.0.0/24"));
    testbed.wait_until_programmed("blue");
    assert_eq!(observed(), before);
}

fn ports_have_their_policies_again_after_a_restart(testbed: &mut VppTestbed) {
    let (_agent, pod) = with_pod(testbed);
    testbed.vpp.kill().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    testbed.vpp.start_again().unwrap();
    wait_for(testbed, &pod, Some(&allowing("10.9.0.0/24")));
    testbed.wait_until_programmed("blue");
    if let Some(simulator) = testbed.vpp.simulator() {
        let log = simulator.log();
        let first = |message: &str| log.iter().position(|entry| entry.message == message);
        assert!(first("acl_interface_set_acl_list") < first("sw_interface_set_flags"), "{log:?}");
    }
}

fn a_network_that_gets_and_loses_policies_keeps_its_ports(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue(1, Policies::Disabled)]);
    testbed.wait_until_programmed("blue");
    let pod = testbed.pod("c1", &blue(1, Policies::Disabled));
    testbed.write(&pod);
    let before = testbed.wait_for_port(&pod);
    wait_for(testbed, &pod, None);
    enable(&agent, 2);
    wait_for(testbed, &pod, Some(&allowing("10.9.0.0/24")));
    agent.set_spec(3, &[blue(3, Policies::Disabled)]);
    wait_for(testbed, &pod, None);
    assert_eq!(testbed.wait_for_port(&pod), before);
}

fn sessions_are_a_metric_while_vpp_has_policies(testbed: &mut VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    let has_series = || SESSIONS.map(|name| agent.has_metric(name));
    let are_known = || (has_series() == [true; 2]).then_some(());
    let are_gone = || (has_series() == [false; 2]).then_some(());
    agent.set_spec(1, &[blue(1, Policies::Disabled)]);
    testbed.wait_until_programmed("blue");
    assert_eq!(has_series(), [false; 2]);
    enable(&agent, 2);
    until("sessions are known", are_known);
    let values = SESSIONS.map(|name| agent.node_metric(name));
    assert!(values.iter().zip([0.0, SESSIONS_MAX]).all(|(value, expected)| (value - expected).abs() < f64::EPSILON));
    testbed.vpp.kill().unwrap();
    until("a VPP that is gone has none", are_gone);
    testbed.vpp.start_again().unwrap();
    until("sessions are known again", are_known);
    agent.set_spec(3, &[blue(3, Policies::Disabled)]);
    until("without policies there are none", are_gone);
}

#[test]
fn a_vpp_that_does_not_tell_its_sessions_has_policies_all_the_same() {
    let missing = Fault::Missing("acl_plugin_get_conn_table_max_entries".to_owned());
    let testbed = VppTestbed::with(Vpp::builder(Kind::Simulator).fault(missing));
    let (agent, _pod) = with_pod(&testbed);
    assert_eq!(SESSIONS.map(|name| agent.has_metric(name)), [false; 2]);
}

#[test]
fn a_vpp_without_access_lists_fails_networks_with_policies_alone() {
    let without = Fault::WithoutPlugin("acl_plugin.so".to_owned());
    let testbed = VppTestbed::with(Vpp::builder(Kind::Simulator).fault(without));
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[blue(1, Policies::Enabled), network("green")]);
    testbed.wait_until_programmed("green");
    let entry = agent.wait_for_network("blue", "says why", |entry| entry.reason == "EngineUnsuitable");
    assert!(entry.message.contains("acl_plugin.so"), "{}", entry.message);
}
