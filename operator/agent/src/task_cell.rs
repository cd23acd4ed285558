//! A value that several tasks of one thread share.

use std::cell::RefCell;

/// A shared value that can only be accessed inside a closure. A closure cannot await, so that no
/// other task runs, and tries to borrow the value, while it is borrowed.
#[derive(Debug, Default)]
pub(crate) struct TaskCell<T>(RefCell<T>);

impl<T> TaskCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.0.borrow())
    }

    pub(crate) fn update<R>(&self, update: impl FnOnce(&mut T) -> R) -> R {
        update(&mut self.0.borrow_mut())
    }
}
