//! Decides what becomes of a network.

use super::super::drain::{Remains, is_drained};
use super::super::inputs::{Inputs, Network};
use super::Verdict;
use super::claims::Claims;
use super::placement::{self, Course};
use std::sync::Arc;
use usnet_crds::conditions::reason;

/// Decides about one network; those that are older or share a bridge with it were judged before. There is no verdict when it goes and has nothing
/// of ours any more.
pub(in super::super) fn judge<'a>(
    inputs: &'a Inputs,
    claims: &mut Claims<'a>,
    name: &'a str,
    network: &'a Network,
) -> (Course, Option<Verdict>) {
    if network.is_deleting {
        let course = if is_used(inputs, name) { Course::Drain } else { Course::Leave };
        return (course, network.has_finalizer.then(|| Verdict::Deleting(Remains::of(name, inputs))));
    }
    if !network.has_finalizer {
        return (Course::Keep, Some(Verdict::Starting));
    }
    let valid = match &network.spec {
        Ok(valid) => valid,
        Err(message) => {
            return (Course::Keep, Some(Verdict::Refused { reason: reason::INVALID, message: message.clone() }));
        }
    };
    match claims.claim(valid, || placement::selected(inputs, valid)) {
        Ok(()) => (Course::Place(Arc::new(placement::entry(inputs, network, valid))), Some(Verdict::Active)),
        Err(conflict) => {
            let verdict = Verdict::Refused { reason: reason::BRIDGE_CONFLICT, message: conflict.to_string() };
            (Course::Keep, Some(verdict))
        }
    }
}

/// Whether some node of the cluster cannot let go of the network yet.
pub(super) fn is_used(inputs: &Inputs, name: &str) -> bool {
    let mut states = inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node));
    states.any(|(_, state)| state.held(name).is_some() && !is_drained(state, name))
}
