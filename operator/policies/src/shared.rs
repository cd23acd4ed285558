//! Equal values are kept once: most pods have the labels of many others.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Values that are not used any more are dropped when there are this many more than were used.
const SLACK: usize = 1024;

#[derive(Debug)]
pub(crate) struct Shared<T> {
    values: BTreeSet<Arc<T>>,
    /// How many were used when they were looked at last.
    used: usize,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { values: BTreeSet::new(), used: 0 }
    }
}

impl<T: Ord> Shared<T> {
    /// The value, as it is kept.
    pub(crate) fn get(&mut self, value: T) -> Arc<T> {
        if let Some(kept) = self.values.get(&value) {
            return Arc::clone(kept);
        }
        if self.values.len() > 2 * self.used + SLACK {
            self.values.retain(|value| Arc::strong_count(value) > 1);
            self.used = self.values.len();
        }
        let value = Arc::new(value);
        self.values.insert(Arc::clone(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_and_unused_ones_go() {
        let mut shared = Shared::default();
        let kept = shared.get("a".to_owned());
        assert!(Arc::ptr_eq(&kept, &shared.get("a".to_owned())));
        for number in 0..10 * SLACK {
            shared.get(number.to_string());
        }
        assert!(shared.values.len() <= 2 * SLACK, "{}", shared.values.len());
        assert!(Arc::ptr_eq(&kept, &shared.get("a".to_owned())));
    }
}
