//! How much policies may need of VPP. What needs more is not enforced in part: the ports are
//! closed.

use super::rules::PortRules;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::AclRule;

/// Most rules of an access list times the ports that use it. VPP compiles the list for each of
/// them, in its main thread and with all workers stopped: 20,000 took up to 60 ms.
pub const RULES_MAX: usize = 25_000;

/// Why policies cannot be enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    #[error("a pod needs more than {RULES_MAX} rules in one direction")]
    Pod,
    #[error("{ports} pods need the same {rules} rules, and at most {RULES_MAX} for all of them together may be there")]
    Set { rules: usize, ports: usize },
}

/// The ports whose rules are too many, with the reason.
pub(super) fn too_large(ports: &BTreeMap<u32, PortRules>) -> BTreeMap<u32, TooLarge> {
    let mut large = BTreeMap::new();
    let directions: [fn(&PortRules) -> &Vec<AclRule>; 2] = [|rules| &rules.input, |rules| &rules.output];
    for rules_of in directions {
        let mut left: BTreeSet<u32> = ports.keys().copied().collect();
        while let Some(first) = left.first().copied() {
            let Some(rules) = ports.get(&first).map(rules_of) else { break };
            let is_same = |index: &u32| ports.get(index).map(rules_of) == Some(rules);
            let same: BTreeSet<u32> = left.iter().copied().filter(is_same).collect();
            left.retain(|index| !same.contains(index));
            if rules.len() * same.len() > RULES_MAX {
                let why = TooLarge::Set { rules: rules.len(), ports: same.len() };
                large.extend(same.into_iter().map(|index| (index, why)));
            }
        }
    }
    large
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::vpp::policy::rules::closed;

    #[test]
    fn rules_times_ports_are_limited() {
        let rule = closed().input.remove(0);
        let rules = |count: usize| PortRules { input: vec![rule.clone(); count], output: Vec::new() };
        let of = |ports: &[usize]| (0..).zip(ports.iter().map(|count| rules(*count))).collect::<BTreeMap<u32, _>>();
        assert_eq!(too_large(&of(&[RULES_MAX, RULES_MAX - 1])), BTreeMap::new());
        let half = RULES_MAX / 2 + 1;
        let why = TooLarge::Set { rules: half, ports: 2 };
        assert_eq!(too_large(&of(&[half, 7, half])), BTreeMap::from([(0, why), (2, why)]));
    }
}
