//! Any drift of a converged node is repaired, and nothing else is changed.

use super::model::Model;
use super::properties::converge;
use crate::model::bridge_settings::MacTable;
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::port::PortName;
use crate::model::tagging::Tagging;
use crate::plan::diff;
use crate::testing::{network, record};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use usnet_crds::{EngineKind, MacLearning};

/// What others do to a port or a bridge.
#[derive(Debug, Clone, Copy)]
enum Drift {
    DisablePort,
    RetagPort,
    LimitPort,
    ResizePort,
    ReplaceSocket,
    DetachPort,
    /// The state after an interrupted ADD.
    DetachAndUntagPort,
    RemovePort,
    RemoveBridge,
    ChangeDatapath,
    ChangeLearning,
    ResetAge,
    GrowMacTable,
}

const ALL: [Drift; 13] = [
    Drift::DisablePort,
    Drift::RetagPort,
    Drift::LimitPort,
    Drift::ResizePort,
    Drift::ReplaceSocket,
    Drift::DetachPort,
    Drift::DetachAndUntagPort,
    Drift::RemovePort,
    Drift::RemoveBridge,
    Drift::ChangeDatapath,
    Drift::ChangeLearning,
    Drift::ResetAge,
    Drift::GrowMacTable,
];

fn bridge<'a>(observed: &'a mut Observed, index: &Index) -> Option<(String, &'a mut ObservedBridge)> {
    let name = observed.bridges.keys().nth(index.index(observed.bridges.len().max(1)))?.clone();
    Some((name.clone(), observed.bridges.get_mut(&name)?))
}

fn port<'a>(observed: &'a mut Observed, index: &Index) -> Option<&'a mut ObservedPort> {
    let (_, bridge) = bridge(observed, index)?;
    let name = bridge.ports.keys().nth(index.index(bridge.ports.len().max(1)))?.clone();
    bridge.ports.get_mut(&name)
}

fn detach_port(observed: &mut Observed, index: &Index) -> Option<(PortName, ObservedPort)> {
    let (_, bridge) = bridge(observed, index)?;
    let name = bridge.ports.keys().nth(index.index(bridge.ports.len().max(1)))?.clone();
    bridge.ports.remove_entry(&name)
}

/// None when there is no such thing to change.
fn apply_drift(observed: &mut Observed, drift: Drift, index: &Index) -> Option<()> {
    match drift {
        Drift::DisablePort => port(observed, index)?.settings.is_enabled = false,
        Drift::RetagPort => port(observed, index)?.settings.tagging = Tagging::Other,
        Drift::LimitPort => port(observed, index)?.settings.rate_limit = None,
        Drift::ResizePort => port(observed, index)?.settings.mtu = None,
        Drift::ReplaceSocket => port(observed, index)?.backend = None,
        Drift::DetachPort => {
            let (name, mut port) = detach_port(observed, index)?;
            port.owner.as_mut()?.network = None;
            observed.unbridged_ports.insert(name, port);
        }
        Drift::DetachAndUntagPort => {
            let (name, port) = detach_port(observed, index)?;
            observed
                .unbridged_ports
                .insert(PortName::observed(&format!("memif-{name}")), ObservedPort { owner: None, ..port });
        }
        Drift::RemovePort => drop(detach_port(observed, index)?),
        Drift::RemoveBridge => {
            let (name, _) = bridge(observed, index)?;
            observed.bridges.remove(&name);
        }
        Drift::ChangeDatapath => bridge(observed, index)?.1.has_supported_datapath = false,
        Drift::ChangeLearning => bridge(observed, index)?.1.settings.mac_learning = MacLearning::Disabled,
        Drift::ResetAge => bridge(observed, index)?.1.settings.mac_age_seconds = None,
        Drift::GrowMacTable => bridge(observed, index)?.1.settings.mac_table = MacTable::Limited(16_777_216),
    }
    Some(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_drift_is_repaired(drifts in vec((select(&ALL[..]), any::<Index>()), 1..6), pods in 1..=3_usize) {
        let pods = ["c1", "c2", "c3"][..pods].iter().zip(["blue", "green", "blue"]);
        let records: Vec<_> = pods.map(|(pod, name)| record(pod, &network(name))).collect();
        let desired = Desired::new(["blue", "green", "red"].map(network), &records);
        let converged = converge(&desired, Model::empty(EngineKind::Vpp))?;
        let mut engine = Model { kind: EngineKind::Vpp, observed: converged.clone() };
        for (drift, index) in drifts {
            let _nothing_to_change = apply_drift(&mut engine.observed, drift, &index);
        }
        let socket_was_replaced = engine.observed.unbridged_ports.values().any(|port| port.backend.is_none() && port.owner.is_none());
        // A port that has neither an ownership tag nor a socket of usnet is not owned by usnet any
        // more.
        prop_assume!(!socket_was_replaced);
        let repaired = converge(&desired, engine)?;
        prop_assert_eq!(&repaired, &converged);
        prop_assert_eq!(diff(&desired, &repaired), vec![]);
    }
}
