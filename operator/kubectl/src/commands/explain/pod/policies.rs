//! Which policies restrict the connections of an interface, where its network has them
//! (`spec.policies`). Pure.

use super::context::Context;
use crate::model::Objects;
use usnet_crds::CompiledPolicySpec;

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
    let is_for = |policy: &&CompiledPolicySpec| {
        policy.namespace.as_str() == namespace && policy.networks.iter().any(|of| of.as_str() == network)
    };
    let restricted_by = |restricts: fn(&CompiledPolicySpec) -> bool| {
        let policies = context.snapshot.policies.iter().filter(is_for).filter(|policy| restricts(policy));
        let names: Vec<String> = policies.map(|policy| format!("{namespace}/{}", policy.name)).collect();
        if names.is_empty() {
            "all connections".to_owned()
        } else {
            format!("the connections that {} allow", names.join(", "))
        }
    };
    Some(format!(
        "network {network} has policies: {name} may get {} and open {}",
        restricted_by(|policy| policy.ingress.is_some()),
        restricted_by(|policy| policy.egress.is_some()),
    ))
}
