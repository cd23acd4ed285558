//! Which policies restrict the connections of an interface, where its network has them
//! (`spec.policies`). Pure.

use super::context::Context;
use crate::model::{NetworkPolicies, Objects};
use usnet_crds::policy::Direction;
use usnet_crds::policy::verdict::of_class;

/// A sentence for users; `None` if the network has no policies.
pub(super) fn restricted(context: &Context<'_>) -> Option<String> {
    if !context.valid()?.policies.are_enabled() {
        return None;
    }
    let (name, namespace) = (&context.element.interface, &context.pod.namespace);
    let network = context.network.as_deref().unwrap_or_default();
    if !context.snapshot.has_read(Objects::Policies) {
        return Some(format!(
            "network {network} has policies, and which of them restrict {name} is unknown: CompiledPolicies were not read"
        ));
    }
    let known = NetworkPolicies::of(context.snapshot, network);
    let class = known.class(context.pod)?;
    let undecided = known.undecided(&class);
    if !undecided.is_empty() {
        return Some(format!(
            "network {network} has policies, and {name} is closed: it is not known yet whether {} select the pod by its labels (is component policies running, and is the agent of the node?)",
            undecided.join(", ")
        ));
    }
    let restricted_by = |direction| {
        let policies = of_class(&known.policies, &class).filter(|policy| policy.rules(direction).is_some());
        let names: Vec<String> = policies.map(|policy| format!("{namespace}/{}", policy.name)).collect();
        if names.is_empty() {
            "all connections".to_owned()
        } else {
            format!("the connections that {} allow", names.join(", "))
        }
    };
    Some(format!(
        "network {network} has policies: {name} may get {} and open {}",
        restricted_by(Direction::Ingress),
        restricted_by(Direction::Egress),
    ))
}
