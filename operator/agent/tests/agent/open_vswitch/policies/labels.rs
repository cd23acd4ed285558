//! Policies by labels of pods: what nodes know of these changes, and is kept.

use super::scene::{A, ALLOWED, B, REFUSED, Scene};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{KnownPod, PodClass, SelectorId};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_crds::{CompiledPolicySpec, Policies, UserspacePodSliceSpec};

const SERVERS: SelectorId = SelectorId::new(1);
const CLIENTS: SelectorId = SelectorId::new(2);

/// Servers of the namespace `db` may be reached by clients at one port of UDP.
fn policies() -> Vec<CompiledPolicySpec> {
    let range = PortRange { protocol: TransportProtocol::Udp, first: ALLOWED, last: ALLOWED };
    let rule = PolicyRule {
        peers: PeerAddresses::Within(BTreeSet::new()),
        peer_pods: [CLIENTS].into(),
        ports: DestinationPorts::Within([range].into()),
    };
    let (namespace, ingress) = ("db".parse().unwrap(), Some(vec![rule]));
    let policy = Policy { namespace, name: "p".to_owned(), pods: Some(SERVERS), ingress, egress: None };
    vec![CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)]
}

/// A pod with what is known of its labels.
type Known<'a> = (&'a str, &'a str, Ipv4Addr, &'a [SelectorId], &'a [SelectorId]);

fn slice(pods: &[Known<'_>]) -> UserspacePodSliceSpec {
    let pod = |(uid, namespace, address, yes, no): &Known<'_>| {
        let class = PodClass {
            namespace: namespace.parse().unwrap(),
            selected_by: yes.iter().copied().collect(),
            not_selected_by: no.iter().copied().collect(),
        };
        ((*uid).to_owned(), KnownPod { class: Arc::new(class), addresses: [(*address).into()].into() })
    };
    let pods: Vec<_> = pods.iter().map(pod).collect();
    UserspacePodSliceSpec::of("blue".parse().unwrap(), pods.iter().map(|(uid, pod)| (uid.as_str(), pod)))
}

/// The pod `b` as a server, and the pod `a` as a client or not.
fn known(scene: &Scene, a_is_client: bool) -> UserspacePodSliceSpec {
    let (a, b) = (scene.client_uid(), scene.server().pod.uid.to_string());
    let of_a: &[SelectorId] = if a_is_client { &[CLIENTS] } else { &[] };
    slice(&[(&a, "clients", A, of_a, &[]), (&b, "db", B, &[SERVERS], &[])])
}

fn start(scene: &Scene) -> RunningAgent {
    let agent = scene.agent(Policies::Enabled);
    agent.set_policies(policies());
    // The agent reports whose pods it has, by which it gets what is known of them.
    agent.wait_for_report("both pods", |report| (report.policy_pods.len() == 2).then_some(()));
    agent
}

#[test]
fn pods_get_what_their_labels_say_and_nothing_before_these_are_known() {
    let scene = Scene::new();
    let agent = start(&scene);
    scene.wait_until("the labels of the server are not known", [false, false]);
    scene.testbed.wait_until_programmed("blue");
    agent.set_pods(known(&scene, true));
    scene.wait_until("one port is open to a client", [true, false]);
    agent.set_pods(known(&scene, false));
    scene.wait_until("nothing is open to others", [false, false]);
    agent.set_pods(known(&scene, true));
    scene.wait_until("one port is open to a client again", [true, false]);
    let (a, b) = (scene.client_uid(), scene.server().pod.uid.to_string());
    let no_server = slice(&[(&a, "clients", A, &[CLIENTS], &[]), (&b, "db", B, &[], &[SERVERS])]);
    agent.set_pods(no_server);
    scene.wait_until("no policy is for the pod", [true, true]);
    agent.set_pods(slice(&[(&a, "clients", A, &[CLIENTS], &[])]));
    scene.wait_until("the labels of the pod are not known any more", [false, false]);
}

#[test]
fn reports_name_the_pods_with_their_addresses_while_the_network_has_policies() {
    let scene = Scene::new();
    let agent = start(&scene);
    let pods = agent.wait_for_report("both pods", |report| Some(report.policy_pods.clone()));
    let addresses: BTreeSet<_> = pods.iter().flat_map(|pod| pod.addresses.clone()).collect();
    assert_eq!(addresses, [A.into(), B.into()].into(), "{pods:?}");
    assert!(pods.iter().all(|pod| pod.network == "blue"), "{pods:?}");
    agent.set_spec(2, &[super::scene::blue(Policies::Disabled)]);
    agent.wait_for_report("no pod", |report| report.policy_pods.is_empty().then_some(()));
}

#[test]
fn a_pod_with_the_address_of_a_former_one_gets_nothing_of_that() {
    let mut scene = Scene::new();
    let agent = start(&scene);
    agent.set_pods(known(&scene, true));
    scene.wait_until("one port is open to a client", [true, false]);
    scene.recreate_server("b2");
    scene.forget_neighbors();
    scene.wait_until("a new pod has the address of the server, and its labels are not known", [false, false]);
    agent.set_pods(known(&scene, true));
    scene.wait_until("one port of the new server is open", [true, false]);
}

#[test]
fn what_is_known_of_pods_outlives_the_agent_and_the_api_server() {
    let mut scene = Scene::new();
    let agent = start(&scene);
    agent.set_pods(known(&scene, true));
    scene.wait_until("one port is open to a client", [true, false]);
    let copy = scene.paths.policies_file();
    until("there is a copy of the pods", || {
        std::fs::read_to_string(&copy).ok()?.contains(&scene.client_uid()).then_some(())
    });
    drop(agent);
    let agent = RunningAgent::start(&scene.paths);
    scene.testbed.ovs.kill_vswitchd().unwrap();
    scene.testbed.ovs.start_vswitchd().unwrap();
    scene.wait_until("one port is open again", [true, false]);
    // Policies alone do not take away what is known of pods.
    agent.set_policies(policies());
    scene.wait_until("one port is still open", [true, false]);
    scene.send(REFUSED);
}
