//! The fence between the controller and the API server: no request passes it without proof that no
//! other replica can be the leader.

use super::boot_clock;
use kube::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tower::{BoxError, service_fn};
use usnet_common::api::error::Closed;

/// The fence is open while the lease is provably held.
#[derive(Debug)]
pub struct Fence {
    /// Until when, in milliseconds of the clock.
    open_until: AtomicU64,
    clock: fn() -> Duration,
}

impl Default for Fence {
    fn default() -> Self {
        Self { open_until: AtomicU64::new(0), clock: boot_clock::now }
    }
}

impl Fence {
    /// Whether a request may be sent now.
    pub fn check(&self) -> Result<(), Closed> {
        let is_open = milliseconds((self.clock)()) < self.open_until.load(Ordering::SeqCst);
        if is_open { Ok(()) } else { Err(Closed) }
    }

    pub(super) fn open_until(&self, end: Duration) {
        self.open_until.store(milliseconds(end), Ordering::SeqCst);
    }

    pub(super) fn close(&self) {
        self.open_until.store(0, Ordering::SeqCst);
    }

    /// A client that sends nothing while the fence is closed. The fence is checked last, after
    /// everything that can wait.
    pub fn client(self: &Arc<Self>, client: &Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let (fence, client) = (Arc::clone(self), client.clone());
        let service = service_fn(move |request| {
            let (fence, client) = (Arc::clone(&fence), client.clone());
            async move {
                fence.check()?;
                client.send(request).await.map_err(BoxError::from)
            }
        });
        Client::new(service, namespace)
    }

    #[cfg(test)]
    pub(crate) fn with_clock(clock: fn() -> Duration) -> Self {
        Self { clock, ..Self::default() }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
