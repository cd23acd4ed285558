//! Whether the policies of namespaces restrict the connections of a network's pods: the setting,
//! and on which networks they can be enforced, in CEL and in Rust. It may change at any time.

use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub(crate) use checks::{policies, rules};

/// Whether MultiNetworkPolicies restrict the connections of pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Policies {
    /// They do not.
    #[default]
    Disabled,
    /// Those that are for the network do.
    Enabled,
}

impl Policies {
    pub const fn are_enabled(self) -> bool {
        matches!(self, Self::Enabled)
    }
}

#[cfg(feature = "api")]
mod checks {
    use super::Policies;
    use crate::cel::{at, is, is_set, with_engine};
    use crate::network::UserspaceNetworkSpec;
    use crate::network::bridge::spec::is_adopted;
    use crate::problem::{Problem, Problems};
    use crate::{AntiSpoofing, EngineKind, Ownership};
    use kube::core::Rule;

    const POLICIES: &str = "policies";
    const VLAN: &str = "port.vlan";
    const ATTACHMENTS: &str = "attachments";
    const RESERVED_VLANS: &str = "reservations.vlans";

    /// Rules of the spec. Where bridges check what pods claim to be, those of others need none:
    /// `antiSpoofing` is refused there.
    pub(crate) fn rules() -> impl Iterator<Item = Rule> {
        let are_disabled = format!("!{}", is(".policies", "Enabled"));
        let fits = format!("{are_disabled} || !{}", is_adopted());
        let engines = EngineKind::ALL.into_iter().filter(|engine| !engine.traits().guards_bridges);
        let of_engines: Vec<Rule> = engines
            .map(|engine| at(&format!(".{POLICIES}"), with_engine(engine, &fits), &Problem::PoliciesOfAdopted))
            .collect();
        let or = |field: &str, expression: &str, problem: &Problem| {
            at(&format!(".{field}"), format!("{are_disabled} || {expression}"), problem)
        };
        let fixes_none = "!(has(self.attachments) && self.attachments.exists(a, has(a.vlan)))";
        let reserves_none = format!("!({} && size(self.{RESERVED_VLANS}) > 0)", is_set(&format!(".{RESERVED_VLANS}")));
        let of_fields = [
            or(POLICIES, &is(".port.antiSpoofing", "Address"), &Problem::PoliciesWithoutAddresses),
            or(VLAN, &format!("!{}", is_set(&format!(".{VLAN}"))), &Problem::PoliciesInVlan),
            or(ATTACHMENTS, fixes_none, &Problem::PoliciesInVlan),
            or(RESERVED_VLANS, &reserves_none, &Problem::PoliciesInVlan),
        ];
        of_engines.into_iter().chain(of_fields)
    }

    /// What the spec says.
    pub(crate) fn policies(problems: &mut Problems, spec: &UserspaceNetworkSpec) -> Policies {
        let found = spec.policies.unwrap_or_default();
        if !found.are_enabled() {
            return found;
        }
        let mut add_if = |is_wrong, field: &str, problem| problems.add_if(is_wrong, &format!("spec.{field}"), problem);
        let is_of_others = spec.bridge.ownership == Ownership::Adopted && !spec.engine.traits().guards_bridges;
        add_if(is_of_others, POLICIES, Problem::PoliciesOfAdopted);
        let checks_addresses = spec.port.anti_spoofing == Some(AntiSpoofing::Address);
        add_if(!checks_addresses, POLICIES, Problem::PoliciesWithoutAddresses);
        add_if(spec.port.vlan.is_some(), VLAN, Problem::PoliciesInVlan);
        add_if(spec.attachments.iter().any(|fixed| fixed.vlan.is_some()), ATTACHMENTS, Problem::PoliciesInVlan);
        let reserves_vlans = spec.reservations.as_ref().is_some_and(|allowed| !allowed.vlans.is_empty());
        add_if(reserves_vlans, RESERVED_VLANS, Problem::PoliciesInVlan);
        found
    }
}
