//! Bonds of the engine: what users write ([`BondSpec`]), its rules in CEL and in Rust, and what
//! nodes read ([`NicBond`]).

use super::member::NicDevice;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub use spec::BondSpec;
#[cfg(feature = "api")]
pub(super) use spec::{bond, bond_is_refused_with_shared, bonds_need_open_vswitch};

/// Which members of a bond carry frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum BondMode {
    /// One of them, as long as it has a link.
    #[default]
    ActiveBackup,
    /// All that agree with the switch by LACP (IEEE 802.1AX).
    #[serde(rename = "LACP")]
    Lacp,
    /// All, each for some MAC addresses; the switch knows of no bond.
    #[serde(rename = "BalanceSLB")]
    BalanceSlb,
}

/// How often the switch is asked to send LACP messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum LacpRate {
    /// Every second: a member that loses frames is left after 3 s.
    #[default]
    Fast,
    /// Every 30 s: it is left after 90 s.
    Slow,
}

/// A bond of NICs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NicBond {
    #[serde(default)]
    pub mode: BondMode,
    #[serde(default)]
    pub lacp_rate: LacpRate,
    /// At least two, in the order in which users wrote them.
    pub members: Vec<NicDevice>,
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::{BondMode, LacpRate, NicBond};
    use crate::EngineKind;
    use crate::cel::{at, is, is_set, with_engine};
    use crate::problem::{Problem, Problems};
    use crate::uplink::member::{MemberSpec, nic_device};
    use crate::uplink::problem::UplinkProblem;
    use kube::KubeSchema;
    use kube::core::Rule;
    use serde::{Deserialize, Serialize};

    /// Fewest and most members of a bond. Switches have up to 8 active members in one.
    const MEMBERS_MIN: usize = 2;
    const MEMBERS_MAX: usize = 8;

    /// A bond of NICs, which the engine has.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    #[x_kube(validation = rate_needs_lacp(), validation = members_differ())]
    pub struct BondSpec {
        /// ActiveBackup: one member carries frames, as long as it has a link. LACP: all that agree
        /// with the switch. BalanceSLB: all, each for some MAC addresses, and the switch knows of
        /// no bond.
        #[serde(default)]
        pub mode: BondMode,
        /// How often the switch is asked to send LACP messages. Fast: every second. Slow: every 30
        /// s. Only with the mode LACP; default Fast.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub lacp_rate: Option<LacpRate>,
        /// The NICs of the bond: 2 to 8.
        #[schemars(length(min = MEMBERS_MIN, max = MEMBERS_MAX))]
        #[x_kube(merge_strategy = ListMerge::Atomic)]
        pub members: Vec<MemberSpec>,
    }

    fn rate_needs_lacp() -> Rule {
        let rule = format!("!{} || {}", is_set(".lacpRate"), is(".mode", "LACP"));
        at(".lacpRate", rule, &UplinkProblem::RateNeedsLacp.into())
    }

    fn members_differ() -> Rule {
        let rule = "self.members.all(m, self.members.exists_one(other, other == m))";
        at(".members", rule, &UplinkProblem::SameMembers.into())
    }

    /// A rule of the spec of an uplink.
    pub(crate) fn bonds_need_open_vswitch() -> Rule {
        let without = "!self.nics.exists(n, n.device.type == 'Bond')";
        at(".nics", with_engine(EngineKind::Vpp, without), &UplinkProblem::BondEngine.into())
    }

    /// A rule of the spec of an uplink.
    pub(crate) fn bond_is_refused_with_shared() -> Rule {
        let shared = is(".nodeTraffic", "Shared");
        let rule = format!("!{shared} || !self.nics.exists(n, n.device.type == 'Bond')");
        at(".nodeTraffic", rule, &UplinkProblem::SharedBond.into())
    }

    /// The bond, if it breaks no rule.
    pub(crate) fn bond(problems: &mut Problems, field: &str, spec: &BondSpec) -> Option<NicBond> {
        let count = spec.members.len();
        problems.add_if(count < MEMBERS_MIN, &format!("{field}.members"), UplinkProblem::FewMembers.into());
        let too_many = Problem::TooMany { count, maximum: MEMBERS_MAX };
        problems.add_if(count > MEMBERS_MAX, &format!("{field}.members"), too_many);
        let is_useless = spec.lacp_rate.is_some() && spec.mode != BondMode::Lacp;
        problems.add_if(is_useless, &format!("{field}.lacpRate"), UplinkProblem::RateNeedsLacp.into());
        let numbered = spec.members.iter().enumerate();
        let members: Option<Vec<_>> = numbered
            .map(|(index, member)| nic_device(problems, &format!("{field}.members[{index}]"), member))
            .collect();
        let members = members?;
        let is_twice =
            members.iter().enumerate().any(|(index, member)| members.iter().take(index).any(|other| other == member));
        problems.add_if(is_twice, &format!("{field}.members"), UplinkProblem::SameMembers.into());
        Some(NicBond { mode: spec.mode, lacp_rate: spec.lacp_rate.unwrap_or_default(), members })
    }
}
