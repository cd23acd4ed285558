//! How places are shared out among namespaces, so that none can take them all. Pure.

use std::collections::BTreeMap;

/// Places, and the namespaces that have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares<'a> {
    most: usize,
    /// The part of what a namespace finds free that it leaves to others, as a divisor.
    reserve: usize,
    taken: usize,
    by_namespace: BTreeMap<&'a str, usize>,
}

impl<'a> Shares<'a> {
    /// Starts with `most` free places. Each namespace may have half of what the others leave, and
    /// at least one.
    pub const fn halves(most: usize) -> Self {
        Self { most, reserve: 2, taken: 0, by_namespace: BTreeMap::new() }
    }

    /// Starts with `most` free places, of which each namespace leaves a quarter: this suits places
    /// that are kept only briefly.
    pub fn quarters(most: usize) -> Self {
        Self { reserve: 4, ..Self::halves(most) }
    }

    /// Records that the namespace has a place, whether or not it may have one.
    pub fn take(&mut self, namespace: &'a str) {
        self.taken += 1;
        *self.by_namespace.entry(namespace).or_default() += 1;
    }

    /// Whether the namespace may have another place. It may have some whatever others have, unless
    /// each of these has a share of its own.
    pub fn may_take(&self, namespace: &str) -> bool {
        self.taken < self.most && self.of(namespace) < self.limit(namespace)
    }

    /// How many places the namespace may have at present.
    pub(crate) fn limit(&self, namespace: &str) -> usize {
        let left = self.most.saturating_sub(self.taken - self.of(namespace));
        left.saturating_sub(left.div_ceil(self.reserve)).max(1)
    }

    /// How many places the namespace has.
    pub(crate) fn of(&self, namespace: &str) -> usize {
        self.by_namespace.get(namespace).copied().unwrap_or_default()
    }

    /// How many places are taken.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// The namespaces that have places.
    pub fn namespaces(&self) -> impl Iterator<Item = &'a str> {
        self.by_namespace.keys().copied()
    }

    /// Gives places to waiting items, each with its namespace and in the order of that namespace:
    /// always to the namespace that has fewest. Returns the items that got one.
    pub fn share_out<T>(&mut self, waiting: impl IntoIterator<Item = (&'a str, T)>) -> Vec<T> {
        let mut lines: BTreeMap<&str, Vec<(usize, T)>> = BTreeMap::new();
        for (place, (namespace, item)) in waiting.into_iter().enumerate() {
            lines.entry(namespace).or_default().push((place, item));
        }
        lines.values_mut().for_each(|line| line.reverse());
        let mut chosen = Vec::new();
        loop {
            let open = lines.iter().filter(|(namespace, _)| self.may_take(namespace));
            let first = open.filter_map(|(namespace, line)| Some((self.of(namespace), line.last()?.0, *namespace)));
            let Some((_, _, namespace)) = first.min() else { return chosen };
            self.take(namespace);
            chosen.extend(lines.get_mut(namespace).and_then(Vec::pop).map(|(_, item)| item));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: usize = 512;

    #[test]
    fn each_namespace_leaves_half_to_others() {
        let mut shares = Shares::halves(MOST);
        let waiting = |namespace| (0..MOST).map(move |number| (namespace, number));
        for (namespace, expected) in [("a", 256), ("b", 128), ("c", 64)] {
            let chosen = shares.share_out(waiting(namespace));
            assert_eq!((chosen.len(), chosen.first()), (expected, Some(&0)), "{namespace}");
        }
        assert_eq!(shares.taken(), 448);
        for (namespace, expected) in [("d", 32), ("e", 16), ("f", 8), ("g", 4), ("h", 2), ("i", 1), ("j", 1), ("k", 0)]
        {
            assert_eq!(shares.share_out(waiting(namespace)).len(), expected, "{namespace}");
        }
    }

    #[test]
    fn places_go_round_in_the_order_of_each_namespace() {
        let mut shares = Shares::halves(8);
        shares.take("a");
        let waiting = [("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1"), ("b", "b2")];
        assert_eq!(shares.share_out(waiting), ["b1", "c1", "a1", "b2"]);
        assert_eq!(Shares::quarters(4).share_out([("a", 1), ("a", 2), ("a", 3), ("a", 4)]).len(), 3);
        assert_eq!(Shares::halves(1).share_out([("a", 1), ("b", 2)]), [1]);
    }

    proptest! {
        #[test]
        fn a_newcomer_finds_a_place_unless_many_have_theirs(wanted in prop::collection::vec(1_usize..600, 1..8)) {
            let names: Vec<String> = (0..wanted.len()).map(|number| format!("n{number}")).collect();
            let mut shares = Shares::halves(MOST);
            for (name, wanted) in names.iter().zip(&wanted) {
                let got = shares.share_out((0..*wanted).map(|number| (name.as_str(), number))).len();
                prop_assert!(got >= 1 && got <= *wanted);
                prop_assert!(got == *wanted || got == shares.limit(name));
            }
            prop_assert!(shares.taken() <= MOST);
            prop_assert!(shares.may_take("newcomer"));
        }

        #[test]
        fn of_those_that_come_together_none_gets_two_more_than_another_that_waits(
            wanted in prop::collection::vec(0_usize..300, 1..8),
        ) {
            let names: Vec<String> = (0..wanted.len()).map(|number| format!("n{number}")).collect();
            let waiting = names.iter().zip(&wanted).flat_map(|(name, wanted)| vec![(name.as_str(), ()); *wanted]);
            let mut shares = Shares::halves(MOST);
            shares.share_out(waiting);
            let most = names.iter().map(|name| shares.of(name)).max().unwrap_or_default();
            for (name, wanted) in names.iter().zip(&wanted) {
                let got = shares.of(name);
                prop_assert!(got == *wanted || got + 1 >= most, "{name}: {got} of {wanted}, {most}");
            }
        }
    }
}
