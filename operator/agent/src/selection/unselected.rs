//! Tells the plugin why networks are not on this node. Nothing depends on it: if the file cannot be
//! written, pods only get a less specific message.

use super::spec_builder::missing_engines;
use crate::model::input::{Compiled, Input};
use crate::model::report::Report;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::message::node as message;
use usnet_crds::node_selection::unmet_requirement;
use usnet_crds::{EngineKind, NodeNetwork, Phase};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::unselected::Unselected;

/// How long a change waits for others. Reports come often, and each check reads all networks. A pod
/// waits 3 s for its network.
const DEBOUNCE: Duration = Duration::from_secs(1);

/// Returns the networks that do not select the node, and why not. Pure.
fn unselected(input: &Input, missing: &BTreeSet<EngineKind>) -> Unselected {
    let reason = |compiled: &Compiled| {
        let NodeNetwork { engine, uplink, .. } = compiled.network.as_ref();
        if input.selects(compiled, missing) || compiled.network.phase == Phase::Draining {
            return None;
        }
        match &compiled.selector {
            Some(selector) => unmet_requirement(selector, &input.labels).map(|unmet| message::not_selected(&unmet)),
            None if missing.contains(engine) => Some(message::engine_never_seen(*engine)),
            None => uplink.as_ref().map(|uplink| message::uplink_not_on_node(&uplink.name)),
        }
    };
    let all = input.networks.iter();
    Unselected::new(all.filter_map(|(name, compiled)| Some((name.clone(), reason(compiled)?))))
}

/// Writes the file whenever it changes. Ends when the agent or the source of the inputs does.
pub(crate) async fn publish(
    paths: NodePaths,
    mut inputs: Receiver<Option<Input>>,
    mut reports: Receiver<Option<Report>>,
) {
    let mut last = None;
    loop {
        let current = {
            let (input, report) = (inputs.borrow_and_update(), reports.borrow_and_update());
            let known = input.as_ref().zip(report.as_ref());
            known.map(|(input, report)| unselected(input, &missing_engines(report)))
        };
        if let Some(current) = current.filter(|current| last.as_ref() != Some(current)) {
            match current.write(&paths) {
                Ok(()) => last = Some(current),
                Err(error) => {
                    tracing::warn!(error = %ErrorChain(&error), "cannot write the file of networks that are not on this node");
                }
            }
        }
        let is_alive = tokio::select! {
            change = inputs.changed() => change.is_ok(),
            change = reports.changed() => change.is_ok(),
        };
        if !is_alive {
            return;
        }
        sleep(DEBOUNCE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::testing::{compiled, input_of};
    use kube::core::{Expression, Selector};

    #[test]
    fn each_network_that_is_not_on_the_node_has_its_reason() {
        let on_rack = |version, name: &str| {
            let selector = Some(Selector::from(Expression::Equal("rack".into(), "a".into())));
            Compiled { selector, ..compiled(version, name) }
        };
        let mut input = input_of(&[compiled(1, "everywhere"), on_rack(2, "racked")]);
        let reasons = |input: &Input, missing: &[EngineKind]| {
            let found = unselected(input, &missing.iter().copied().collect());
            found.networks.into_iter().map(|(name, reason)| (name.to_string(), reason)).collect::<Vec<_>>()
        };
        let [(name, reason)] = reasons(&input, &[]).try_into().unwrap();
        assert_eq!(name, "racked");
        assert!(reason.contains("\"rack=a\" is required, and the node has no label rack"), "{reason}");

        input.labels.insert("rack".to_owned(), "a".to_owned());
        assert_eq!(reasons(&input, &[]), []);
        let [(name, reason)] = reasons(&input, &[EngineKind::OpenVswitch]).try_into().unwrap();
        assert_eq!(name, "everywhere");
        assert!(reason.starts_with("Open vSwitch has never been connected on this node"), "{reason}");
    }
}
