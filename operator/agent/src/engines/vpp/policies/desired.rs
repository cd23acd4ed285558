//! What the ports of VPP should have, by the policies that are known. Pure.

use crate::engines::attached_pods::{AttachedPod, AttachedPods};
use crate::model::policies::{KnownPolicies, NetworkKnowledge};
use crate::model::spec::NodeSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use usnet_crds::policy::pods::{PodAddresses, PodClass};
use usnet_crds::policy::verdict::is_known;
use usnet_crds::{EngineKind, NetworkName, Ownership};
use usnet_dataplane::engine::policy_subjects::{class_of, peers};
use usnet_dataplane::observed::PoliciesProblem;
use usnet_dataplane::vpp::policy::PortPolicy;
use usnet_dataplane::vpp::policy::limits::{RULES_MAX, TooLarge};
use usnet_dataplane::vpp::policy::memory::Memory;
use usnet_dataplane::vpp::policy::ports::{BridgedPort, BridgedPorts};
use usnet_dataplane::vpp::policy::rule_set::RuleSet;

/// What ports should have.
#[derive(Debug, Default)]
pub(super) struct Desired {
    /// By the indexes of interfaces; those of networks that the spec does not name are left as they
    /// are.
    pub(super) ports: BTreeMap<u32, PortPolicy>,
    /// The rules of ports that have any.
    pub(super) rules: BTreeMap<u32, Arc<RuleSet>>,
    /// The networks with policies, and why they are not enforced.
    pub(super) networks: BTreeMap<NetworkName, Option<PoliciesProblem>>,
}

/// What is known of the node.
pub(super) struct Known<'a> {
    pub(super) spec: &'a NodeSpec,
    pub(super) policies: &'a KnownPolicies,
    pub(super) pods: &'a AttachedPods,
}

/// The networks of VPP, and whether they have policies. A bridge domain of others has none.
pub(super) fn networks(spec: &NodeSpec) -> BTreeMap<NetworkName, bool> {
    let of_vpp = spec.networks.iter().filter(|network| network.engine == EngineKind::Vpp);
    let has_policies = |ownership: Ownership| ownership == Ownership::Managed;
    of_vpp
        .map(|network| (network.name.clone(), network.policies.are_enabled() && has_policies(network.bridge.ownership)))
        .collect()
}

pub(super) fn desired(bridged: &BridgedPorts, known: &Known<'_>, memory: &Memory, now: Instant) -> Desired {
    let mut desired = Desired::default();
    for (network, has_policies) in networks(known.spec) {
        let ports: Vec<(u32, &BridgedPort)> =
            bridged.iter().filter(|(_, port)| port.network == network).map(|(index, port)| (*index, port)).collect();
        if !has_policies {
            desired.ports.extend(ports.into_iter().map(|(index, _)| (index, PortPolicy::Open)));
            continue;
        }
        let Some(all) = known.policies else {
            desired.ports.extend(ports.into_iter().map(|(index, _)| (index, PortPolicy::AsBefore)));
            desired.networks.insert(network, Some(PoliciesProblem::Unknown));
            continue;
        };
        let knowledge = all.get(&network).cloned().unwrap_or_default();
        let problem = restrict(&mut desired, &ports, known.pods, &knowledge, (memory, now));
        desired.networks.insert(network, problem);
    }
    desired
}

/// Adds the ports of a network. Returns why its policies cannot be enforced.
fn restrict(
    desired: &mut Desired,
    ports: &[(u32, &BridgedPort)],
    pods: &AttachedPods,
    NetworkKnowledge { policies, pods: known }: &NetworkKnowledge,
    (memory, now): (&Memory, Instant),
) -> Option<PoliciesProblem> {
    let pod_of = |port: &BridgedPort| pods.get(&port.attachment);
    let peers = peers(known, addresses(ports.iter().filter_map(|(_, port)| pod_of(port))));
    let mut by_class: BTreeMap<Arc<PodClass>, Option<Arc<RuleSet>>> = BTreeMap::new();
    let mut is_too_large = false;
    for (index, port) in ports {
        let class =
            pod_of(port).map(|pod| class_of(known, &pod.owner)).filter(|class| is_known(policies.iter(), class));
        let Some(class) = class else {
            desired.ports.insert(*index, PortPolicy::Closed);
            continue;
        };
        let rules = |class: &Arc<PodClass>| rules(policies, class, &peers);
        match by_class.entry(class).or_insert_with_key(rules) {
            Some(rules) => {
                desired.ports.insert(*index, memory.policy(&port.attachment, rules, now));
                desired.rules.insert(*index, Arc::clone(rules));
            }
            None => {
                desired.ports.insert(*index, PortPolicy::Closed);
                is_too_large = true;
            }
        }
    }
    is_too_large.then(|| too_large(&TooLarge::Pod))
}

fn rules(policies: &[usnet_crds::policy::Policy], class: &PodClass, peers: &PodAddresses) -> Option<Arc<RuleSet>> {
    RuleSet::of(policies, class, peers, RULES_MAX).map(Arc::new)
}

pub(super) fn too_large(why: &TooLarge) -> PoliciesProblem {
    PoliciesProblem::TooLarge(format!("{why}; the ports of these pods are closed here"))
}

/// The addresses of pods of this node, by uid. One that two pods have is of neither.
fn addresses<'a>(pods: impl Iterator<Item = &'a AttachedPod>) -> BTreeMap<IpAddr, Option<&'a str>> {
    let (mut all, mut twice) = (BTreeMap::new(), BTreeSet::new());
    for pod in pods {
        for address in &pod.addresses {
            let before = all.insert(*address, Some(pod.owner.uid.as_str()));
            if before.is_some_and(|before| before != Some(pod.owner.uid.as_str())) {
                twice.insert(*address);
            }
        }
    }
    all.extend(twice.into_iter().map(|address| (address, None)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policies::{joined, policies_by_network};
    use std::collections::BTreeSet;
    use usnet_crds::policy::Policy;
    use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};
    use usnet_crds::{CompiledPolicySpec, NodeNetwork, Policies};
    use usnet_dataplane::engine::policy_subjects::PortOwner;
    use usnet_dataplane::testing::{attachment, network};

    fn blue(policies: Policies) -> Arc<NodeNetwork> {
        Arc::new(NodeNetwork { engine: EngineKind::Vpp, policies, ..network("blue") })
    }

    fn spec(policies: Policies) -> NodeSpec {
        NodeSpec { networks: vec![blue(policies)], ..NodeSpec::default() }
    }

    fn bridged(containers: &[&str]) -> BridgedPorts {
        let port =
            |container: &&str| BridgedPort { attachment: attachment(container), network: "blue".parse().unwrap() };
        (1..).zip(containers.iter().map(port)).collect()
    }

    fn pods(pods: &[(&str, &str, &str)]) -> AttachedPods {
        let pod = |(container, namespace, address): &(&str, &str, &str)| {
            let owner = PortOwner { namespace: namespace.parse().unwrap(), uid: format!("uid-{container}") };
            (attachment(container), AttachedPod { owner, addresses: vec![address.parse().unwrap()] })
        };
        pods.iter().map(pod).collect()
    }

    /// Pods of `db` get what comes from these prefixes.
    fn policy(prefixes: BTreeSet<ipnet::IpNet>) -> KnownPolicies {
        let rule = PolicyRule {
            peers: PeerAddresses::Within(prefixes),
            peer_pods: BTreeSet::new(),
            ports: DestinationPorts::Any,
        };
        let (namespace, name) = ("db".parse().unwrap(), "p".to_owned());
        let policy = Policy { namespace, name, pods: None, ingress: Some(vec![rule]), egress: None };
        let object = CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy);
        Some(Arc::new(joined(&policies_by_network([&object]), &BTreeMap::new())))
    }

    fn of(spec: &NodeSpec, policies: &KnownPolicies, pods: &AttachedPods) -> Desired {
        let bridged = bridged(&["c1", "c2", "c3"]);
        desired(&bridged, &Known { spec, policies, pods }, &Memory::default(), Instant::now())
    }

    #[test]
    fn each_port_has_the_rules_of_its_pod_or_is_closed() {
        let pods = pods(&[("c1", "db", "10.0.0.1"), ("c2", "web", "10.0.0.2")]);
        let found = of(&spec(Policies::Enabled), &policy(["10.0.0.0/24".parse().unwrap()].into()), &pods);
        assert!(matches!(found.ports[&1], PortPolicy::Restricted { .. }));
        assert_eq!((&found.ports[&2], &found.ports[&3]), (&PortPolicy::Open, &PortPolicy::Closed), "no record");
        assert_eq!(found.networks, BTreeMap::from([("blue".parse().unwrap(), None)]));
    }

    #[test]
    fn policies_that_are_not_known_leave_what_there_is_and_without_any_ports_are_open() {
        let pods = pods(&[("c1", "db", "10.0.0.1"), ("c2", "web", "10.0.0.2")]);
        let found = of(&spec(Policies::Enabled), &None, &pods);
        assert!(found.ports.values().all(|port| *port == PortPolicy::AsBefore), "{found:?}");
        assert_eq!(found.networks.values().flatten().collect::<Vec<_>>(), [&PoliciesProblem::Unknown]);
        let found = of(&spec(Policies::Disabled), &None, &pods);
        assert!(found.ports.values().all(|port| *port == PortPolicy::Open) && found.networks.is_empty(), "{found:?}");
        assert_eq!(found.ports.len(), 3);
        let found = of(&NodeSpec::default(), &None, &pods);
        assert!(found.ports.is_empty(), "{found:?}");
    }

    #[test]
    fn a_pod_with_too_many_rules_is_closed() {
        let prefixes: BTreeSet<ipnet::IpNet> = (0..=u32::try_from(RULES_MAX).unwrap())
            .map(|number| ipnet::IpNet::from(IpAddr::from(std::net::Ipv4Addr::from(number))))
            .collect();
        let pods = pods(&[("c1", "db", "10.0.0.1"), ("c2", "web", "10.0.0.2")]);
        let found = of(&spec(Policies::Enabled), &policy(prefixes), &pods);
        assert_eq!((&found.ports[&1], &found.ports[&2]), (&PortPolicy::Closed, &PortPolicy::Open));
        let problem = found.networks.values().flatten().next();
        assert!(matches!(problem, Some(PoliciesProblem::TooLarge(why)) if why.contains("25000")), "{problem:?}");
    }
}
