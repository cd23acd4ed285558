//! What all agents of the process share: counts of their reports, and how they connect.

use super::protocol::Stats;
use kube::Client;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all agents of the process write.
#[derive(Default)]
pub(super) struct Counters {
    writes: AtomicUsize,
    failed: AtomicUsize,
    bytes: AtomicUsize,
    largest: AtomicUsize,
}

impl Counters {
    pub(super) fn wrote(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.largest.fetch_max(bytes, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn take(&self) -> Stats {
        Stats {
            writes: self.writes.swap(0, Ordering::Relaxed),
            failed: self.failed.swap(0, Ordering::Relaxed),
            bytes: self.bytes.swap(0, Ordering::Relaxed),
            largest: self.largest.swap(0, Ordering::Relaxed),
        }
    }
}

/// An agent's own client.
pub(super) async fn client(mut kubeconfig: Value, token: &str) -> Client {
    kubeconfig["users"][0]["user"] = json!({"token": token});
    crate::cluster::kubeconfig::client(kubeconfig).await
}
