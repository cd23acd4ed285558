//! How the flows of a bridge differ from those that it should have.

use crate::flow::{Cookie, Flow, Instructions};
use crate::messages::{FlowMod, InstalledFlow};
use std::collections::BTreeMap;

/// What to delete, and then to add. Flows are compared by table, priority, cookie and
/// instructions: the cookie has a hash of the match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    pub surplus: Vec<InstalledFlow>,
    pub missing: Vec<Flow>,
}

type Key = (u8, u16, Cookie, Instructions);

impl Difference {
    /// Compares flows that should be with those that a bridge has.
    pub fn between(desired: &[Flow], installed: impl IntoIterator<Item = InstalledFlow>) -> Self {
        let mut keys: BTreeMap<Key, (Vec<&Flow>, Vec<InstalledFlow>)> = BTreeMap::new();
        for flow in desired {
            keys.entry((flow.table, flow.priority, flow.cookie, flow.action.encode())).or_default().0.push(flow);
        }
        for flow in installed {
            keys.entry((flow.table, flow.priority, flow.cookie, flow.instructions.clone())).or_default().1.push(flow);
        }
        let mut difference = Self::default();
        for (missing, surplus) in keys.into_values() {
            // A copy with another match has the key of the original, too: which of them is the
            // original cannot be told, and so all are replaced.
            if missing.len() != surplus.len() {
                difference.missing.extend(missing.into_iter().cloned());
                difference.surplus.extend(surplus);
            }
        }
        difference
    }

    /// The changes that undo the difference, for one bundle.
    #[must_use]
    pub fn changes(self) -> Vec<FlowMod> {
        let deletions = self.surplus.into_iter().map(|flow| FlowMod::DeleteStrict {
            table: flow.table,
            priority: flow.priority,
            matches: flow.matches,
        });
        deletions.chain(self.missing.into_iter().map(FlowMod::Add)).collect()
    }

    /// Whether the bridge has what it should have.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.surplus.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortNumber;
    use crate::flow::{Action, Match, Output};

    fn flow(number: u16, action: Action) -> Flow {
        let port = PortNumber::new(number).unwrap();
        let matches = Match { in_port: Some(port), ..Match::default() };
        Flow { table: 0, priority: 10, cookie: Cookie::new(1, port, &matches, &action), matches, action }
    }

    fn installed(flow: &Flow) -> InstalledFlow {
        let Flow { table, priority, cookie, ref matches, ref action } = *flow;
        let (matches, instructions) = (matches.encode(), action.encode());
        InstalledFlow { table, priority, cookie, matches, instructions, packets: 7, bytes: 420 }
    }

    #[test]
    fn a_flow_that_is_missing_added_or_changed_is_found() {
        let [one, two] = [flow(1, Action::Drop), flow(2, Action::Output(Output::Normal))];
        let both = [one.clone(), two.clone()];
        let difference = |installed: &[InstalledFlow]| Difference::between(&both, installed.to_vec());
        assert!(difference(&[installed(&two), installed(&one)]).is_empty());
        assert_eq!(difference(&[installed(&one)]).missing, both[1..]);
        let copied = InstalledFlow { matches: Match::default().encode(), ..installed(&two) };
        let found = difference(&[copied.clone(), installed(&one), installed(&two)]);
        assert_eq!(found, Difference { surplus: vec![copied, installed(&two)], missing: vec![two.clone()] });
        assert!(matches!(found.changes().as_slice(), [_, FlowMod::DeleteStrict { .. }, FlowMod::Add(_)]));
        for changed in [
            InstalledFlow { table: 1, ..installed(&two) },
            InstalledFlow { priority: 11, ..installed(&two) },
            InstalledFlow { cookie: Cookie(0), ..installed(&two) },
            InstalledFlow { instructions: Action::Drop.encode(), ..installed(&two) },
        ] {
            let found = difference(&[installed(&one), changed.clone()]);
            assert_eq!(found, Difference { missing: vec![two.clone()], surplus: vec![changed] });
        }
    }
}
