//! Packets that the switch finishes pass guards, policies and VLANs as others do.

use super::scene::{Scene, blue, broken};
use crate::support::node::until;
use std::collections::BTreeSet;
use std::time::Duration;
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule};
use usnet_crds::{AntiSpoofing, CompiledPolicySpec, NodeNetwork, Policies, Vlan, VlanTag};
use usnet_test_openvswitch::OpenVswitch;

const BYTES: usize = 20_000_000;

fn guarded(anti_spoofing: AntiSpoofing, policies: Policies) -> NodeNetwork {
    let mut blue = NodeNetwork { policies, ..blue() };
    (blue.bridge.is_guarded, blue.port.anti_spoofing) = (true, anti_spoofing);
    blue
}

fn start(network: &NodeNetwork) -> Scene {
    let scene = Scene::with(OpenVswitch::builder(), "true", network);
    scene.wait_until_left();
    scene
}

#[track_caller]
fn assert_nothing_broken(scene: &Scene) {
    assert_eq!(scene.pods.each_ref().map(broken), [0, 0], "packets with wrong checksums arrived");
}

/// Pods of the namespace of both may be reached from these addresses.
fn only_from(addresses: &[&str]) -> Vec<CompiledPolicySpec> {
    let peers = PeerAddresses::Within(addresses.iter().map(|block| block.parse().unwrap()).collect());
    let rule = PolicyRule { peers, peer_pods: BTreeSet::new(), ports: DestinationPorts::Any };
    let namespace = "default".parse().unwrap();
    let policy = Policy { namespace, name: "p".to_owned(), pods: None, ingress: Some(vec![rule]), egress: None };
    vec![CompiledPolicySpec::new(["blue".parse().unwrap()].into(), 1, policy)]
}

/// Guards of both kinds, and in front of the second one a policy.
#[test]
fn tcp_passes_guards_and_policies_and_what_these_refuse_does_not() {
    for anti_spoofing in [AntiSpoofing::Mac, AntiSpoofing::Address] {
        let policies = if anti_spoofing == AntiSpoofing::Mac { Policies::Disabled } else { Policies::Enabled };
        let scene = start(&guarded(anti_spoofing, policies));
        assert!(scene.transfer(BYTES).is_some(), "{anti_spoofing:?}");
        // Another address of its own MAC address, and then another MAC address.
        let [from, _] = &scene.pods;
        from.ip("addr add 10.9.0.77/24 dev net1");
        from.ip("route add 10.9.0.2/32 dev net1 src 10.9.0.77");
        let passes = scene.transfer_within(Duration::from_secs(2)).is_some();
        assert_eq!(passes, anti_spoofing == AntiSpoofing::Mac, "{anti_spoofing:?}, a forged address");
        from.ip("route del 10.9.0.2/32");
        from.ip("link set net1 address 02:00:00:00:00:77");
        assert!(scene.transfer_within(Duration::from_secs(2)).is_none(), "{anti_spoofing:?}, a forged MAC address");
        from.ip("link set net1 address 02:00:00:00:00:01");
        if policies == Policies::Enabled {
            scene.agent.set_policies(only_from(&["10.9.0.8/32"]));
            until("the policy is enforced", || scene.transfer_within(Duration::from_secs(1)).is_none().then_some(()));
            scene.agent.set_policies(only_from(&["10.9.0.1/32"]));
            until("the pod may", || scene.transfer_within(Duration::from_secs(1)));
            assert!(scene.transfer(BYTES).is_some(), "through the policy");
        }
        assert_nothing_broken(&scene);
    }
}

/// Packets with tags of the pods' own are those of VLAN devices, which not every kernel has.
#[test]
fn tcp_passes_vlans() {
    let tag = |number: i64| VlanTag::try_from(number).unwrap();
    for vlan in [Vlan::Access { tag: tag(7) }, Vlan::NativeUntagged { tag: tag(7), trunks: [tag(100)].into() }] {
        let mut network = blue();
        network.port.vlan = Some(vlan.clone());
        let scene = start(&network);
        assert!(scene.transfer(BYTES).is_some(), "{vlan}");
        assert_nothing_broken(&scene);
    }
}
