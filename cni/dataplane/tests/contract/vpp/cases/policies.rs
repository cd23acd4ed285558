//! Ports of networks with policies: they have access lists before they are up, what others change
//! is repaired, and nothing is left.

use super::guards::{network, state};
use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, port_name};
use crate::vpp::switch::{TIMEOUT, VppSwitch};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::plan::Op;
use usnet_dataplane::vpp::policy::rule_set::{Permit, RuleSet, Service};
use usnet_dataplane::vpp::policy::rules::{PortRules, closed, compile};
use usnet_dataplane::vpp::policy::sessions::{self, Sessions};
use usnet_dataplane::vpp::policy::{Enforced, PortPolicy, TAG, enforce, ports};
use usnet_test_vpp::Fault;
use usnet_vpp::messages::{
    AclAddReplace, AclDetails, AclDump, AclInterfaceEtypeWhitelistDump, AclInterfaceListDump, AclInterfaceSetAclList,
    AclInterfaceSetEtypeWhitelist, ByDirection, IfStatusFlags, L2FlagsGet, L2InputFeatures, L2OutputFeatures, NO_ACL,
};
use usnet_vpp::wire::FixedText;

const UNSPECIFIED: i32 = -1;
/// More changing messages than an ADD has.
const MANY: u64 = 60;

/// A network with these ports, which are created closed.
pub(super) fn desired(switch: &VppSwitch, containers: &[&str]) -> Desired {
    let blue = network(switch);
    let mut desired = switch.desired(std::slice::from_ref(&blue), containers);
    desired.ports.values_mut().for_each(|port| port.creation.is_closed = true);
    desired
}

/// The result of a future of a client that blocks.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the client does not block"),
    }
}

/// Gives these ports what they should have, and others of usnet nothing.
pub(super) fn keep(switch: &VppSwitch, policies: &[(&str, PortPolicy)]) -> Enforced {
    keep_and_delete(switch, policies, &BTreeSet::new())
}

fn keep_and_delete(switch: &VppSwitch, policies: &[(&str, PortPolicy)], unused: &BTreeSet<u32>) -> Enforced {
    let mut client = switch.client(TIMEOUT);
    let bridged = now(ports::read(&mut client)).expect("ports");
    let wanted = policies.iter().map(|(container, policy)| (index(switch, container), policy.clone()));
    let wanted: BTreeMap<u32, PortPolicy> = wanted.collect();
    assert!(wanted.keys().all(|index| bridged.contains_key(index)), "{bridged:?}");
    now(enforce(&mut client, &bridged, &wanted, unused)).expect("an answer")
}

/// How many sessions there are and may be; `None` if VPP does not tell.
pub(super) fn sessions(switch: &VppSwitch) -> Option<Sessions> {
    now(sessions::read(&mut switch.client(TIMEOUT))).expect("an answer")
}

pub(super) fn index(switch: &VppSwitch, container: &str) -> u32 {
    switch.other_client().interface(&port_name(container)).sw_if_index
}

/// What comes from these prefixes is allowed.
pub(super) fn ingress(prefixes: &[&str]) -> PortPolicy {
    let permit = |prefix: &&str| Permit { peer: prefix.parse().expect("a prefix"), service: Service::Any };
    let rules = RuleSet { ingress: Some(prefixes.iter().map(permit).collect()), egress: None };
    PortPolicy::Restricted { rules: compile(&rules, None), ends_sessions: false }
}

fn rules_of(policy: &PortPolicy) -> PortRules {
    match policy {
        PortPolicy::Restricted { rules, .. } => rules.clone(),
        PortPolicy::Closed | PortPolicy::AsBefore => closed(),
        PortPolicy::Open => panic!("it has no rules"),
    }
}

/// The access lists of VPP.
fn acls(switch: &VppSwitch) -> BTreeMap<u32, AclDetails> {
    let all = switch.other_client().dump(AclDump { acl_index: NO_ACL });
    all.into_iter().map(|acl| (acl.acl_index, acl)).collect()
}

fn lists(switch: &VppSwitch, container: &str) -> ByDirection<u32> {
    let sw_if_index = index(switch, container);
    let found = switch.other_client().dump(AclInterfaceListDump { sw_if_index });
    found.into_iter().find(|details| details.sw_if_index == sw_if_index).expect("an interface").acls
}

/// The rules that packets of a port are compared with; `None` without any in a direction.
fn rules(switch: &VppSwitch, container: &str) -> Option<PortRules> {
    let (sw_if_index, lists, acls) = (index(switch, container), lists(switch, container), acls(switch));
    let features = switch.other_client().request(L2FlagsGet { sw_if_index });
    let whitelists = switch.other_client().dump(AclInterfaceEtypeWhitelistDump { sw_if_index });
    let whitelist = ByDirection { input: vec![0x0806, 0x8035], output: vec![0x0806] };
    let is_compared = features.input_feature_bitmap.contains(L2InputFeatures::FEATURE_ARC)
        && features.output_feature_bitmap.contains(L2OutputFeatures::FEATURE_ARC)
        && whitelists.iter().any(|found| found.whitelist == whitelist);
    let rules = |list: &[u32]| match list {
        [acl] => Some(acls.get(acl)?.rules.clone()),
        _ => None,
    };
    let found = PortRules { input: rules(&lists.input)?, output: rules(&lists.output)? };
    is_compared.then_some(found)
}

fn is_up(switch: &VppSwitch, container: &str) -> bool {
    switch.other_client().interface(&port_name(container)).flags.contains(IfStatusFlags::ADMIN_UP)
}

pub(crate) fn a_new_port_is_closed_before_it_is_up_and_opened_afterwards(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    converge(&mut engine, &desired(switch, &[]));
    switch.take_exchanged();
    converge(&mut engine, &desired(switch, &["c1", "c2"]));
    assert_eq!((rules(switch, "c1"), is_up(switch, "c1")), (Some(closed()), true));
    let changes = switch.changes();
    let last = |name: &str| changes.iter().rposition(|change| change == name).expect(name);
    assert!(last("acl_interface_set_acl_list") < last("sw_interface_set_flags"), "{changes:?}");
    let policies = [("c1", ingress(&["10.9.0.0/24"])), ("c2", ingress(&["10.9.0.0/24"]))];
    assert_eq!(keep(switch, &policies), Enforced { changed: 2, ..Enforced::default() });
    assert_eq!(rules(switch, "c1"), Some(rules_of(&policies[0].1)));
    assert_eq!((lists(switch, "c1"), acls(switch).len()), (lists(switch, "c2"), 2), "they share them");
    assert_eq!(keep(switch, &policies), Enforced::default());
    assert!(converge(&mut engine, &desired(switch, &["c1", "c2"])).is_empty(), "the plan leaves them");

    // In place, and to no policy.
    let before = lists(switch, "c1");
    let more = ingress(&["10.9.0.0/24", "10.8.0.0/24"]);
    keep(switch, &[("c1", more.clone()), ("c2", more.clone())]);
    assert_eq!((lists(switch, "c1"), rules(switch, "c2")), (before, Some(rules_of(&more))));
    keep(switch, &[("c1", PortPolicy::Open), ("c2", more.clone())]);
    assert_eq!((lists(switch, "c1"), rules(switch, "c2")), (ByDirection::default(), Some(rules_of(&more))));
    keep(switch, &[("c1", PortPolicy::Open), ("c2", PortPolicy::Open)]);
    assert_eq!(acls(switch).len(), 0);
    assert!(is_up(switch, "c1") && is_up(switch, "c2"));
}

fn set_lists(switch: &VppSwitch, sw_if_index: u32, input: Vec<u32>, output: Vec<u32>) {
    let acls = ByDirection { input, output };
    switch.other_client().request(AclInterfaceSetAclList { sw_if_index, acls });
}

fn add_acl(switch: &VppSwitch, acl_index: u32, tag: &str) -> u32 {
    let (tag, rules) = (FixedText::new(tag).expect("short"), closed().input);
    switch.other_client().request(AclAddReplace { acl_index, tag, rules }).acl_index
}

pub(crate) fn what_others_change_of_access_lists_is_repaired(switch: &mut VppSwitch) {
    converge(&mut switch.engine(), &desired(switch, &["c1", "c2"]));
    let policies = [("c1", ingress(&["10.9.0.0/24"])), ("c2", ingress(&["10.9.0.0/24"]))];
    keep(switch, &policies);
    let domain = bridge(&network(switch)).parse().expect("an id");
    let (own, port) = (lists(switch, "c1"), index(switch, "c1"));
    let foreign = add_acl(switch, NO_ACL, "theirs");
    for what in 0..6 {
        match what {
            0 => set_lists(switch, port, vec![], vec![]),
            1 => set_lists(switch, port, vec![foreign], own.output.clone()),
            2 => set_lists(switch, port, own.input.clone(), vec![foreign, own.output[0]]),
            3 => drop(add_acl(switch, own.output[0], TAG)),
            4 => {
                let whitelist = ByDirection::default();
                switch.other_client().request(AclInterfaceSetEtypeWhitelist { sw_if_index: port, whitelist });
            }
            _ => {
                switch.other_client().take_out(port, domain);
                switch.other_client().put_into(port, domain);
            }
        }
        let is_wrong = |container| rules(switch, container) != Some(rules_of(&policies[0].1));
        assert!(is_wrong("c1"), "{what}");
        let done = keep(switch, &policies);
        assert!(done.problem.is_none() && done.changed > 0, "{what} {done:?}");
        assert!(!is_wrong("c1") && !is_wrong("c2"), "{what}");
        assert!(acls(switch).contains_key(&foreign), "{what}");
    }
    assert_eq!(keep(switch, &policies), Enforced::default());
}

pub(crate) fn access_lists_of_others_are_not_changed(switch: &mut VppSwitch) {
    let blue = network(switch);
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    let foreign = add_acl(switch, NO_ACL, "theirs");
    set_lists(switch, index(switch, "c1"), vec![foreign], vec![]);
    let before = (acls(switch), lists(switch, "c1"));
    let open = [("c1", PortPolicy::Open), ("c2", ingress(&[]))];
    keep(switch, &open);
    assert_eq!(lists(switch, "c1"), before.1, "on a port without policies");
    assert_eq!(acls(switch)[&foreign], before.0[&foreign]);
    keep(switch, &[("c1", ingress(&[])), ("c2", ingress(&[]))]);
    assert_eq!(rules(switch, "c1"), Some(rules_of(&ingress(&[]))), "usnet alone says what is restricted");
    converge(&mut switch.engine(), &Desired::default());
    assert_eq!(acls(switch), before.0, "of usnet nothing is left");
}

pub(crate) fn a_removed_port_leaves_no_access_list(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue = network(switch);
    for (with_index, is_open) in [(false, false), (true, false), (false, true), (true, true)] {
        converge(&mut engine, &desired(switch, &["c1", "c2"]));
        if is_open {
            keep(switch, &[("c1", ingress(&[])), ("c2", ingress(&[]))]);
        }
        let before = index(switch, "c1");
        let mut remove = switch.remove_port_op("c1", &blue);
        if let Op::RemovePort { interface_index, .. } = &mut remove {
            *interface_index = with_index.then_some(before);
        }
        assert_eq!(apply(&mut engine, &[remove]), [Ok(())]);
        let left = 1 + usize::from(is_open);
        assert_eq!((acls(switch).len(), rules(switch, "c2").is_some()), (left, true), "those of the other are left");
        converge(&mut engine, &desired(switch, &["c2", "c3"]));
        assert_eq!((index(switch, "c3"), rules(switch, "c3")), (before, Some(closed())));
        converge(&mut engine, &desired(switch, &[]));
        assert_eq!(acls(switch).len(), 0);
    }
}

/// What a process left that was killed is deleted by the second round: the plugin may be about to
/// use it in the first.
pub(crate) fn an_access_list_that_nothing_uses_is_deleted(switch: &mut VppSwitch) {
    converge(&mut switch.engine(), &desired(switch, &["c1"]));
    let policies = [("c1", ingress(&[]))];
    keep(switch, &policies);
    let orphan = add_acl(switch, NO_ACL, TAG);
    let first = keep(switch, &policies);
    assert_eq!((first.unused.clone(), acls(switch).contains_key(&orphan)), ([orphan].into(), true));
    let second = keep_and_delete(switch, &policies, &first.unused);
    assert_eq!((second.unused.len(), acls(switch).len()), (0, 2));
}

pub(crate) fn ports_with_policies_are_closed_after_a_restart(switch: &mut VppSwitch) {
    converge(&mut switch.engine(), &desired(switch, &["c1"]));
    keep(switch, &[("c1", ingress(&["10.9.0.0/24"]))]);
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &desired(switch, &["c1"]));
    assert_eq!((rules(switch, "c1"), is_up(switch, "c1"), acls(switch).len()), (Some(closed()), true, 1));
}

/// VPP has as many as rules times ports.
pub(crate) fn ports_with_too_many_rules_are_closed(switch: &mut VppSwitch) {
    converge(&mut switch.engine(), &desired(switch, &["c1", "c2", "c3"]));
    let permits = (0..13_000_u32).map(|number| Permit { peer: ipnet(number), service: Service::Any });
    let rules_of_many = RuleSet { ingress: Some(permits.collect()), egress: None };
    let large = PortPolicy::Restricted { rules: compile(&rules_of_many, None), ends_sessions: false };
    let done = keep(switch, &[("c1", large.clone()), ("c2", large.clone()), ("c3", ingress(&[]))]);
    assert_eq!((done.problem, done.too_large.len()), (None, 2));
    assert_eq!([rules(switch, "c1"), rules(switch, "c2")], [Some(closed()), Some(closed())]);
    assert_eq!(rules(switch, "c3"), Some(rules_of(&ingress(&[]))));
    let done = keep(switch, &[("c1", large.clone()), ("c2", PortPolicy::Closed), ("c3", ingress(&[]))]);
    assert_eq!((done.problem, done.too_large.len()), (None, 0), "one of them alone has room");
    assert_eq!(rules(switch, "c1"), Some(rules_of(&large)));
}

fn ipnet(number: u32) -> ipnet::IpNet {
    std::net::IpAddr::from(std::net::Ipv4Addr::from(number)).into()
}

/// The port as the plugin creates it.
fn create(switch: &VppSwitch) -> Op {
    let port = desired(switch, &["c1"]).ports.into_values().next().expect("a port");
    Op::CreatePort { port: port.into() }
}

pub(crate) fn a_rejected_message_leaves_no_open_port_and_no_access_list(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let alone = desired(switch, &[]);
    converge(&mut engine, &alone);
    let create = create(switch);
    let simulator = switch.vpp().simulator().expect("a case of the simulator");
    let mut refused = 0;
    for nth in 1..MANY {
        simulator.fault(Fault::Fail { nth, retval: UNSPECIFIED });
        let results = apply(&mut engine, std::slice::from_ref(&create));
        simulator.clear_faults();
        if results[0].is_ok() {
            assert_eq!((rules(switch, "c1"), is_up(switch, "c1")), (Some(closed()), true), "message {nth}");
            converge(&mut engine, &alone);
        } else {
            refused += 1;
        }
        let ports = switch.other_client().ports();
        assert_eq!((ports, acls(switch).len()), (0, 0), "message {nth}");
    }
    assert!(refused > 8, "{refused}");
}

pub(crate) fn without_the_plugin_a_port_with_policies_is_refused(switch: &mut VppSwitch) {
    let mut engine = switch.engine();
    let blue: NodeNetwork = network(switch);
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c2"]));
    let results = apply(&mut engine, &[create(switch)]);
    let text = results[0].as_ref().expect_err("it cannot be closed").to_string();
    assert!(text.contains("acl_plugin.so"), "{text}");
    let ports = switch.other_client().ports();
    assert_eq!((ports, state(switch, "c2")), (1, (false, true)));
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &[]));
}

pub(crate) fn without_packets_there_are_no_sessions(switch: &mut VppSwitch) {
    assert_eq!(sessions(switch), Some(Sessions { count: 0, max: 500_000 }));
}

pub(crate) fn a_vpp_that_does_not_tell_its_sessions_has_none(switch: &mut VppSwitch) {
    assert_eq!(sessions(switch), None);
}
