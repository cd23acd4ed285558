//! Slots with numbers that are reused: the slot that was freed last comes first, as in VPP
//! (`vppinfra/pool.h`).

#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<Option<T>>,
    /// The last slot is used next.
    free: Vec<usize>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let index = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(index) {
            Some(slot) => *slot = Some(value),
            None => self.slots.push(Some(value)),
        }
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let index = usize::try_from(index).ok()?;
        let value = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        Some(value)
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(usize::try_from(index).ok()?)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(usize::try_from(index).ok()?)?.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.slots).filter_map(|(index, slot)| Some((index, slot.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn last_freed_slot_is_used_first() {
        let mut pool = Pool::default();
        let all: Vec<u32> = (0..4).map(|value| pool.insert(value)).collect();
        assert_eq!(all, [0, 1, 2, 3]);
        assert_eq!((pool.remove(0), pool.remove(2), pool.remove(2)), (Some(0), Some(2), None));
        assert_eq!((pool.insert(7), pool.insert(8), pool.insert(9)), (2, 0, 4));
    }
}
