//! Acquires, renews and releases the Lease.

use super::boot_clock;
use super::decide::{Decision, LeaseObservation, LeaseSnapshot, decide};
use super::fence::Fence;
use super::timing::{FENCE_MARGIN, LEASE_DURATION, LEASE_REQUEST_TIMEOUT, RENEW_INTERVAL, RETRY_PERIOD};
use crate::LEASE_NAME;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use usnet_common::display::ErrorChain;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// This replica watches, and writes nothing.
    Standby,
    /// This replica watches and writes.
    Leader,
    /// This replica shuts down and writes nothing any more.
    Ended,
}

/// Why the lease could not be read or written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot read or write Lease {LEASE_NAME}")]
    Request(#[from] kube::Error),
    #[error("no response within {LEASE_REQUEST_TIMEOUT:?} to a request for Lease {LEASE_NAME}")]
    Timeout,
}

/// Takes part in the election.
#[derive(Debug)]
pub struct Elector {
    leases: Api<Lease>,
    identity: String,
    fence: Arc<Fence>,
    roles: Sender<Role>,
    observation: LeaseObservation,
    /// The lease as last written; none while this replica does not hold it.
    held: Option<Lease>,
    /// The leader that was logged last.
    known_leader: Option<String>,
    is_failing: bool,
}

impl Elector {
    /// An elector that does not hold the lease yet. The lease is in the namespace of the client.
    /// `identity` is the name of the pod: unique, and authenticated by the API server.
    pub fn new(client: Client, identity: String) -> Self {
        Self {
            leases: Api::default_namespaced(client),
            identity,
            fence: Arc::default(),
            roles: channel(Role::Standby).0,
            observation: LeaseObservation::default(),
            held: None,
            known_leader: None,
            is_failing: false,
        }
    }

    /// The fence, which is open while the lease is held.
    pub fn fence(&self) -> Arc<Fence> {
        Arc::clone(&self.fence)
    }

    /// Notifies of every change of the role.
    pub fn roles(&self) -> Receiver<Role> {
        self.roles.subscribe()
    }

    /// Acquires the lease when possible, and renews it until `end`. From then on nothing passes the
    /// fence; requests in flight continue for up to [`super::REQUEST_TIMEOUT`].
    pub async fn run_until(mut self, end: impl Future<Output = ()>) -> Self {
        tokio::select! {
            never = self.run() => match never {},
            () = end => self.end(),
        }
        self
    }

    async fn run(&mut self) -> Infallible {
        loop {
            let started = Instant::now();
            let result = self.step().await;
            self.record_result(result.err().as_ref());
            match self.held {
                Some(_) => sleep_until(started + RENEW_INTERVAL).await,
                None => sleep(RETRY_PERIOD).await,
            }
        }
    }

    fn end(&mut self) {
        self.fence.close();
        self.roles.send_replace(Role::Ended);
    }

    /// Releases the lease, so that another replica need not wait for its expiry. No request may be
    /// in flight any more.
    pub async fn release(self) {
        if self.held.is_none() {
            return;
        }
        match self.clear_holder().await {
            Ok(()) => tracing::info!(lease = LEASE_NAME, "released the lease"),
            Err(_) => {
                tracing::warn!(lease = LEASE_NAME, "cannot release the lease; it expires by itself");
            }
        }
    }

    /// Reads the lease first: a renewal may have been in flight at shutdown.
    async fn clear_holder(&self) -> Result<(), Error> {
        let mut lease = in_time(self.leases.get(LEASE_NAME)).await?;
        if let Some(spec) = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_ref() == Some(&self.identity)) {
            spec.holder_identity = None;
            in_time(self.leases.replace(LEASE_NAME, &PostParams::default(), &lease)).await?;
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<(), Error> {
        if let Some(held) = self.held.clone() {
            match self.write(&held).await {
                // Another replica wrote it, or a renewal that seemed to fail succeeded: read it
                // again.
                Err(error) if is_conflict(&error) => {}
                result => return result,
            }
        }
        let started = boot_clock::now();
        let found = in_time(self.leases.get_opt(LEASE_NAME)).await?;
        let snapshot = found.as_ref().map(snapshot);
        let unchanged_for =
            snapshot.as_ref().map_or(Duration::ZERO, |snapshot| self.observation.observe(&snapshot.version, started));
        match decide(snapshot.as_ref(), unchanged_for, &self.identity, self.held.is_some()) {
            Decision::Create => {
                let started = boot_clock::now();
                let desired_lease = self.desired_lease(&Lease::default(), true);
                let created = in_time(self.leases.create(&PostParams::default(), &desired_lease)).await;
                created.map(|lease| self.set_held(lease, started)).or_else(ignore_conflict)
            }
            Decision::Acquire => {
                self.held = None;
                self.write(&found.unwrap_or_default()).await
            }
            Decision::Renew => self.write(&found.unwrap_or_default()).await,
            Decision::Wait => {
                self.set_lost();
                self.log_leader(snapshot.and_then(|snapshot| snapshot.holder));
                Ok(())
            }
        }
    }

    /// Replaces the version `old` of the lease; the API server reports a conflict when another
    /// replica was faster.
    async fn write(&mut self, old: &Lease) -> Result<(), Error> {
        let desired_lease = self.desired_lease(old, self.held.is_none());
        let started = boot_clock::now();
        let lease = in_time(self.leases.replace(LEASE_NAME, &PostParams::default(), &desired_lease)).await?;
        self.set_held(lease, started);
        Ok(())
    }

    /// The lease with this replica as its holder.
    fn desired_lease(&self, old: &Lease, is_new_holder: bool) -> Lease {
        let spec = old.spec.clone().unwrap_or_default();
        let now = Some(MicroTime(Timestamp::now()));
        let transitions = spec.lease_transitions.unwrap_or_default();
        Lease {
            metadata: ObjectMeta { name: Some(LEASE_NAME.to_owned()), ..old.metadata.clone() },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.identity.clone()),
                lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
                acquire_time: if is_new_holder { now.clone() } else { spec.acquire_time },
                renew_time: now,
                lease_transitions: Some(if is_new_holder { transitions.saturating_add(1) } else { transitions }),
                ..LeaseSpec::default()
            }),
        }
    }

    /// Records the lease as held, counted from before the request.
    fn set_held(&mut self, lease: Lease, started: Duration) {
        self.fence.open_until(started.saturating_add(LEASE_DURATION - FENCE_MARGIN));
        self.held = Some(lease);
        self.set_role(Role::Leader);
    }

    fn set_lost(&mut self) {
        self.fence.close();
        self.held = None;
        self.set_role(Role::Standby);
    }

    fn log_leader(&mut self, leader: Option<String>) {
        if self.known_leader != leader {
            tracing::info!(identity = self.identity, leader, "standby");
            self.known_leader = leader;
        }
    }

    fn set_role(&self, role: Role) {
        let changed = self.roles.send_if_modified(|known| std::mem::replace(known, role) != role);
        match role {
            Role::Leader if changed => tracing::info!(identity = self.identity, "became leader"),
            Role::Standby if changed => tracing::warn!(identity = self.identity, "lost leadership; nothing is written"),
            Role::Standby | Role::Leader | Role::Ended => {}
        }
    }

    /// Logs the first of a series of failures. A lease that could not be renewed in time may still
    /// be held, but that is no longer proved.
    fn record_result(&mut self, error: Option<&Error>) {
        if let Some(error) = error.filter(|_| !self.is_failing) {
            tracing::warn!(error = %ErrorChain(error), "cannot acquire or renew the lease; retrying");
        }
        self.is_failing = error.is_some();
        if self.fence.check().is_err() {
            self.set_role(Role::Standby);
        }
    }
}

fn snapshot(lease: &Lease) -> LeaseSnapshot {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    LeaseSnapshot {
        holder: spec.holder_identity,
        duration: seconds.map_or(LEASE_DURATION, Duration::from_secs),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
    }
}

/// The response to one request.
async fn in_time<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
    Ok(timeout(LEASE_REQUEST_TIMEOUT, request).await.map_err(|_| Error::Timeout)??)
}

fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Request(kube::Error::Api(status)) if status.code == 409)
}

/// Another replica created it at the same time: it is read again in the next step.
fn ignore_conflict(error: Error) -> Result<(), Error> {
    match error {
        error if is_conflict(&error) => Ok(()),
        error => Err(error),
    }
}
