//! Whatever happens to a node that is as it should be is put right, and nothing else is touched.

use super::model::Model;
use super::properties::achieve;
use crate::desired::Desired;
use crate::observed::{Observed, ObservedBridge, ObservedPort, Tagging};
use crate::plan::plan;
use crate::port::PortName;
use crate::testing::{network, record};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use usnet_crds::{Engine, MacLearning};

/// What others do to a port or a bridge.
#[derive(Debug, Clone, Copy)]
enum Drift {
    DisablePort,
    RetagPort,
    LimitPort,
    ResizePort,
    ReplaceSocket,
    TakePortOff,
    /// As a killed ADD leaves it.
    TakePortAndMarkOff,
    RemovePort,
    RemoveBridge,
    ChangeKind,
    ChangeLearning,
    ForgetAge,
}

const ALL: [Drift; 12] = [
    Drift::DisablePort,
    Drift::RetagPort,
    Drift::LimitPort,
    Drift::ResizePort,
    Drift::ReplaceSocket,
    Drift::TakePortOff,
    Drift::TakePortAndMarkOff,
    Drift::RemovePort,
    Drift::RemoveBridge,
    Drift::ChangeKind,
    Drift::ChangeLearning,
    Drift::ForgetAge,
];

fn bridge<'a>(shown: &'a mut Observed, index: &Index) -> Option<(String, &'a mut ObservedBridge)> {
    let name = shown.bridges.keys().nth(index.index(shown.bridges.len().max(1)))?.clone();
    Some((name.clone(), shown.bridges.get_mut(&name)?))
}

fn port<'a>(shown: &'a mut Observed, index: &Index) -> Option<&'a mut ObservedPort> {
    let (_, bridge) = bridge(shown, index)?;
    let name = bridge.ports.keys().nth(index.index(bridge.ports.len().max(1)))?.clone();
    bridge.ports.get_mut(&name)
}

fn take_off(shown: &mut Observed, index: &Index) -> Option<(PortName, ObservedPort)> {
    let (_, bridge) = bridge(shown, index)?;
    let name = bridge.ports.keys().nth(index.index(bridge.ports.len().max(1)))?.clone();
    bridge.ports.remove_entry(&name)
}

/// None when there is no such thing to change.
fn suffer(shown: &mut Observed, drift: Drift, index: &Index) -> Option<()> {
    match drift {
        Drift::DisablePort => port(shown, index)?.is_enabled = false,
        Drift::RetagPort => port(shown, index)?.tagging = Tagging::Other,
        Drift::LimitPort => port(shown, index)?.rate_limit = None,
        Drift::ResizePort => port(shown, index)?.mtu = None,
        Drift::ReplaceSocket => port(shown, index)?.connection = None,
        Drift::TakePortOff => {
            let (name, mut port) = take_off(shown, index)?;
            port.mark.as_mut()?.network = None;
            shown.loose.insert(name, port);
        }
        Drift::TakePortAndMarkOff => {
            let (name, port) = take_off(shown, index)?;
            shown.loose.insert(PortName::observed(&format!("memif-{name}")), ObservedPort { mark: None, ..port });
        }
        Drift::RemovePort => drop(take_off(shown, index)?),
        Drift::RemoveBridge => {
            let (name, _) = bridge(shown, index)?;
            shown.bridges.remove(&name);
        }
        Drift::ChangeKind => bridge(shown, index)?.1.is_our_kind = false,
        Drift::ChangeLearning => bridge(shown, index)?.1.mac_learning = MacLearning::Disabled,
        Drift::ForgetAge => bridge(shown, index)?.1.mac_age_seconds = None,
    }
    Some(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn whatever_happens_is_put_right(drifts in vec((select(&ALL[..]), any::<Index>()), 1..6), pods in 1..=3_usize) {
        let pods = ["c1", "c2", "c3"][..pods].iter().zip(["blue", "green", "blue"]);
        let records: Vec<_> = pods.map(|(pod, name)| record(pod, &network(name))).collect();
        let desired = Desired::new(["blue", "green", "red"].map(network), &records);
        let achieved = achieve(&desired, Model::empty(Engine::Vpp))?;
        let mut engine = Model { kind: Engine::Vpp, shown: achieved.clone() };
        for (drift, index) in drifts {
            let _nothing_to_change = suffer(&mut engine.shown, drift, &index);
        }
        let socket_was_replaced = engine.shown.loose.values().any(|port| port.connection.is_none() && port.mark.is_none());
        // What has neither our mark nor a socket of ours is not ours any more.
        prop_assume!(!socket_was_replaced);
        let repaired = achieve(&desired, engine)?;
        prop_assert_eq!(&repaired, &achieved);
        prop_assert_eq!(plan(&desired, &repaired), vec![]);
    }
}
