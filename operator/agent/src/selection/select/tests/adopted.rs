//! Several networks that adopt one bridge.

use super::*;
use usnet_crds::{FixedAttachment, Vlan, VlanTag};

fn access(tag: i64) -> Vlan {
    Vlan::Access { tag: VlanTag::try_from(tag).unwrap() }
}

/// A network that adopts `br0` for this VLAN.
fn adopting(version: u64, name: &str, created: i64, vlan: Option<i64>) -> Compiled {
    let compiled = on_bridge("br0", created, compiled(version, name));
    let mut network = NodeNetwork::clone(&compiled.network);
    network.bridge.ownership = Ownership::Adopted;
    network.port.vlan = vlan.map(access);
    Compiled { network: Arc::new(network), ..compiled }
}

#[test]
fn networks_with_different_vlans_share_an_adopted_bridge() {
    let all = [5, 6, 7].map(|tag| adopting(1, &format!("vlan-{tag}"), tag, Some(tag)));
    let spec = select_with(&input_of(&all), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["vlan-5 br0 Active", "vlan-6 br0 Active", "vlan-7 br0 Active"]);
    let all = [adopting(1, "old", 1, Some(5)), adopting(2, "young", 2, Some(5)), adopting(3, "other", 3, Some(6))];
    let spec = select_with(&input_of(&all), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["old br0 Active", "other br0 Active", "young BridgeConflict"]);
    let message = &spec.refused[0].message;
    assert!(
        message.contains("network old has adopted bridge br0 as well") && message.contains("spec.port.vlan"),
        "{message}"
    );
}

#[test]
fn a_network_without_a_vlan_is_alone_on_its_bridge() {
    let (plain, tagged) = (adopting(1, "plain", 1, None), adopting(2, "tagged", 2, Some(5)));
    let spec = select_with(&input_of(&[plain.clone(), tagged.clone()]), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["plain br0 Active", "tagged BridgeConflict"]);
    let spec = select_with(&input_of(&[plain, tagged.clone()]), &previous(&[&tagged]), &[]);
    assert_eq!(summary_of(&spec), ["tagged br0 Active", "plain BridgeConflict"], "the one that has it keeps it");
    let managed = on_bridge("br0", 1, compiled(3, "managed"));
    let spec = select_with(&input_of(&[managed, tagged]), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["managed br0 Active", "tagged BridgeConflict"]);
}

#[test]
fn an_edit_to_a_vlan_of_another_network_leaves_that_one_as_it_is() {
    let before = [adopting(1, "a", 1, Some(5)), adopting(2, "b", 2, Some(6))];
    let spec = select_with(&input_of(&before), &NodeSpec::default(), &[]);
    let edited = [adopting(3, "a", 1, Some(6)), before[1].clone()];
    let after = select_with(&input_of(&edited), &spec, &["a"]);
    assert_eq!(summary_of(&after), ["a br0 Draining", "b br0 Active", "a BridgeConflict"], "a is older");
    assert_eq!(after.networks[0].port.vlan, Some(access(5)), "its pods keep their VLAN");
    // A VLAN that only one pod has is taken as well.
    let mut with_pod = NodeNetwork::clone(&before[0].network);
    with_pod.attachments = vec![FixedAttachment {
        namespace: "db".parse().unwrap(),
        pod: "mysql-0".parse().unwrap(),
        ips: Vec::new(),
        mac: None,
        allowed_address_pairs: Vec::new(),
        vlan: Some(access(6)),
        rate_limit: None,
    }];
    let edited = [Compiled { network: Arc::new(with_pod), ..before[0].clone() }, before[1].clone()];
    let after = select_with(&input_of(&edited), &spec, &[]);
    assert_eq!(summary_of(&after), ["b br0 Active", "a BridgeConflict"]);
}
