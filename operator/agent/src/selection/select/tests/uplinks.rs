//! Which networks have their uplinks on a node, and which uplinks the node has.

use super::*;
use crate::selection::testing::uplink;
use usnet_crds::conditions::message::node::UPLINKS_UNKNOWN;
use usnet_crds::{NetworkUplink, ValidUplink, VlanTag};

fn on_uplink(version: u64, network: &str, vlan: i64) -> Compiled {
    let compiled = compiled(version, network);
    let uplink = NetworkUplink { name: "fab".parse().unwrap(), vlan: Some(VlanTag::try_from(vlan).unwrap()) };
    let network = NodeNetwork { uplink: Some(uplink), ..NodeNetwork::clone(&compiled.network) };
    Compiled { network: Arc::new(network), ..compiled }
}

fn input(networks: &[Compiled], uplinks: &[ValidUplink]) -> Input {
    let uplinks = uplinks.iter().map(|uplink| (uplink.name.clone(), Arc::new(uplink.clone()))).collect();
    Input { uplinks: Some(uplinks), labels: [("rack".into(), "a".into())].into(), ..input_of(networks) }
}

fn devices(spec: &NodeSpec) -> Vec<String> {
    let device = |uplink: &Arc<usnet_crds::NodeUplink>| format!("{} {:?}", uplink.name, uplink.nic.device);
    spec.uplinks
        .values()
        .map(device)
        .map(|text| text.replace("Nic(Name { name: NicName(", "").replace(") })", ""))
        .collect()
}

#[test]
fn a_node_has_the_uplinks_that_select_it_also_without_a_network() {
    let here = uplink("fab", 3, Some("a"), "eth1");
    let input = input(&[], &[here, uplink("far", 1, Some("b"), "eth2"), uplink("all", 1, None, "eth3")]);
    let spec = select_with(&input, &NodeSpec::default(), &[]);
    assert_eq!(devices(&spec), ["all \"eth3\"", "fab \"eth1\""]);
    assert_eq!(spec.uplinks[&"fab".parse::<usnet_crds::UplinkName>().unwrap()].generation, 3);
    let again = select_with(&input, &spec, &[]);
    assert_eq!(again, spec);
    assert!(again.uplinks.iter().all(|(name, uplink)| Arc::ptr_eq(uplink, &spec.uplinks[name])), "the same in memory");
}

#[test]
fn a_network_whose_uplink_has_no_nic_for_the_node_is_refused() {
    let selector = Some(kube::core::Selector::from(kube::core::Expression::Exists("rack".into())));
    let blue = Compiled { selector, ..on_uplink(1, "blue", 7) };
    let far = uplink("fab", 1, Some("b"), "eth1");
    let spec = select_with(&input(std::slice::from_ref(&blue), std::slice::from_ref(&far)), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), ["blue UplinkNotReady"]);
    assert!(spec.refused[0].message.starts_with("no entry in spec.nics of UserspaceUplink fab is for this node"));
    // Without a selector it is on the nodes of its uplink.
    let spec = select_with(&input(&[on_uplink(1, "blue", 7)], &[far]), &NodeSpec::default(), &[]);
    assert_eq!(summary_of(&spec), Vec::<String>::new());
    let spec = select_with(&input(&[blue], &[]), &NodeSpec::default(), &[]);
    assert!(spec.refused[0].message.starts_with("there is no UserspaceUplink fab"), "{:?}", spec.refused);
}

#[test]
fn a_network_keeps_an_uplink_that_disappears_and_loses_it_with_its_last_network() {
    let here = [uplink("fab", 1, None, "eth1")];
    let spec = select_with(&input(&[on_uplink(1, "blue", 7)], &here), &NodeSpec::default(), &[]);
    assert_eq!((summary_of(&spec), devices(&spec).len()), (vec!["blue br-blue Active".to_owned()], 1));
    for without in
        [input(&[on_uplink(1, "blue", 7)], &[]), Input { uplinks: None, ..input(&[on_uplink(1, "blue", 7)], &[]) }]
    {
        let kept = select_with(&without, &spec, &[]);
        assert_eq!((summary_of(&kept), &kept.uplinks), (summary_of(&spec), &spec.uplinks));
    }
    let left = select_with(&input(&[], &[]), &spec, &[]);
    assert_eq!((left.networks.len(), left.uplinks.len()), (0, 0));
    // It drains with pods on it.
    let draining = with_phase(Phase::Draining, on_uplink(2, "blue", 7));
    let drains = select_with(&input(&[draining], &[]), &spec, &["blue"]);
    assert_eq!((summary_of(&drains), &drains.uplinks), (vec!["blue br-blue Draining".to_owned()], &spec.uplinks));
}

#[test]
fn another_nic_of_the_node_is_taken_at_once() {
    let blue = on_uplink(1, "blue", 7);
    let spec =
        select_with(&input(std::slice::from_ref(&blue), &[uplink("fab", 1, None, "eth1")]), &NodeSpec::default(), &[]);
    let moved = select_with(&input(&[blue], &[uplink("fab", 2, None, "eth2")]), &spec, &["blue"]);
    assert_eq!((summary_of(&moved), devices(&moved)), (summary_of(&spec), vec!["fab \"eth2\"".to_owned()]));
}

#[test]
fn before_uplinks_are_known_a_new_network_waits_and_nothing_is_lost() {
    let blue = on_uplink(1, "blue", 7);
    let unknown = Input { uplinks: None, ..input(std::slice::from_ref(&blue), &[]) };
    let spec = select_with(&unknown, &NodeSpec::default(), &[]);
    assert_eq!(
        (summary_of(&spec), spec.refused[0].message.as_str()),
        (vec!["blue UplinkNotReady".to_owned()], UPLINKS_UNKNOWN)
    );
    let of_disk = select_with(&input(&[], &[uplink("fab", 1, None, "eth1")]), &NodeSpec::default(), &[]);
    assert_eq!(select_with(&Input { networks: BTreeMap::new(), ..unknown }, &of_disk, &[]).uplinks, of_disk.uplinks);
}
