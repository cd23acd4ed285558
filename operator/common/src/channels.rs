//! Channels that hold the newest value.

use tokio::sync::watch::Sender;

/// Sends a value that differs from the last one. Receivers of the same value are not woken.
pub fn send_if_changed<T: PartialEq>(sender: &Sender<T>, value: T) {
    sender.send_if_modified(|before| {
        let has_changed = *before != value;
        *before = value;
        has_changed
    });
}
