//! The zones of bridges whose networks have policies.

use super::golden::{Scenario, check, programmed};
use super::properties::converge;
use super::strategies::{desired_strategy, engine_strategy};
use crate::model::desired::Desired;
use crate::model::observed::Observed;
use crate::plan::{PlanContext, diff};
use crate::testing::{network, record};
use proptest::prelude::*;
use std::collections::BTreeMap;
use usnet_crds::{EngineKind, NodeNetwork, Ownership, Policies};

fn with_policies(name: &str) -> NodeNetwork {
    let mut network = network(name);
    (network.bridge.is_guarded, network.policies) = (true, Policies::Enabled);
    network
}

fn zones(observed: &Observed) -> BTreeMap<&str, u16> {
    let zones = observed.bridges.iter().filter_map(|(name, bridge)| Some((name, bridge.settings.policy_zone?)));
    zones.map(|(name, zone)| (name.as_str(), zone.number())).collect()
}

#[test]
fn a_zone_stays_while_other_networks_come_and_go() {
    let [blue, green, red] = ["blue", "green", "red"].map(with_policies);
    let mut observed = programmed(EngineKind::OpenVswitch, &Desired::new([red.clone()], []));
    assert_eq!(zones(&observed), [("br-red", 65535)].into());
    for (networks, expected) in [
        (vec![blue.clone(), red.clone()], [("br-blue", 65534), ("br-red", 65535)]),
        (vec![blue.clone(), green], [("br-blue", 65534), ("br-green", 65533)]),
        (vec![blue, red], [("br-blue", 65534), ("br-red", 65535)]),
    ] {
        let engine = super::model::Model { kind: EngineKind::OpenVswitch, observed };
        observed = converge(&Desired::new(networks, []), engine).unwrap();
        assert_eq!(zones(&observed), expected.into());
    }
}

#[test]
fn policies_change_nothing_but_the_bridge() {
    let records = [record("c1", &with_policies("blue"))];
    let without = NodeNetwork { policies: Policies::Disabled, ..with_policies("blue") };
    let [without, with] = [without, with_policies("blue")].map(|network| Desired::new([network], &records));
    let texts = |from: &Desired, to: &Desired| -> Vec<String> {
        let observed = programmed(EngineKind::OpenVswitch, from);
        diff(to, &observed).iter().map(|operation| operation.change_text(&observed)).collect()
    };
    assert_eq!(texts(&without, &with), ["set policies with connections in zone 65535 of bridge br-blue"]);
    assert_eq!(texts(&with, &without), ["set no policies of bridge br-blue"]);
    let of_vpp = programmed(EngineKind::Vpp, &without);
    assert_eq!(diff(&with, &of_vpp), [], "only the ports of VPP can be guarded");
}

#[test]
fn policies_enabled() {
    let about = "A network gets policies: its bridge has a zone of its own, and nothing is created again.";
    let mut blue = with_policies("blue");
    blue.policies = Policies::Disabled;
    let observed = programmed(EngineKind::OpenVswitch, &Desired::new([blue.clone(), with_policies("red")], []));
    blue.policies = Policies::Enabled;
    let desired = Desired::new([blue, with_policies("red")], []);
    check("policies_enabled", &Scenario { about, desired, observed, context: PlanContext::default() });
}

#[test]
fn policies_disabled() {
    let about = "A network has no policies any more: its bridge has no zone, and its ports stay guarded.";
    let mut blue = with_policies("blue");
    let observed = programmed(EngineKind::OpenVswitch, &Desired::new([blue.clone()], &[record("c1", &blue)]));
    blue.policies = Policies::Disabled;
    let desired = Desired::new([blue.clone()], &[record("c1", &blue)]);
    check("policies_disabled", &Scenario { about, desired, observed, context: PlanContext::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_two_networks_with_policies_share_a_zone(desired in desired_strategy(), engine in engine_strategy()) {
        let before = engine.observed.clone();
        let converged = converge(&desired, engine)?;
        let all = zones(&converged);
        let (before, shared) = (zones(&before), |zones: &BTreeMap<&str, u16>, zone| {
            zones.values().filter(|other| **other == zone).count() > 1
        });
        for network in desired.networks.values() {
            let name = network.bridge.name.as_str();
            let is_ours = converged.bridges.get(name).is_some_and(|bridge| bridge.network() == Some(&network.name));
            // The API has no policies on adopted bridges, whose settings stay as they are.
            let has_policies = network.policies.are_enabled() && network.bridge.ownership == Ownership::Managed;
            let Some(zone) = all.get(name).copied().filter(|_| is_ours && has_policies) else { continue };
            prop_assert!(!shared(&all, zone), "{name}: {all:?}");
            // It is kept, unless another one has it, too.
            let kept = before.get(name).filter(|kept| !shared(&before, **kept));
            prop_assert!(kept.is_none_or(|kept| *kept == zone), "{name}: {before:?}, {all:?}");
        }
    }
}
