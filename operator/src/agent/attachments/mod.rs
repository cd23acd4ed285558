//! Interfaces that `UserspaceAttachment`s request for running pods. The controller names them in
//! the node state; the agent reads neither the objects nor pods.
//!
//! For each of them the [`plan`] says what is next, from the records of the pod and its sandbox
//! that are [`found`]; the [`plugin`] attaches and detaches, called by the service for attachments;
//! the [`worker`] has the calls in flight, of which each namespace has a share ([`slots`]), repeats
//! what fails, and publishes what is reported. All that it knows follows from the journal, so that
//! a restart loses nothing.

mod attachment;
mod found;
mod plan;
mod plugin;
mod report;
mod slots;
mod wanted;
mod worker;

use std::hash::{DefaultHasher, Hash, Hasher};
use tokio::sync::watch::{Receiver, Sender};
use usnet_crds::{AttachmentReport, AttachmentState, RequestedAttachment};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;

/// What is requested of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requested {
    /// The generation of the node state.
    pub(crate) generation: i64,
    /// All requested attachments.
    pub(crate) attachments: Vec<RequestedAttachment>,
}

/// What the node has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reported {
    /// The generation of the node state that this is about.
    pub(crate) generation: i64,
    /// What is requested, and what was and is not detached yet, by uid.
    pub(crate) attachments: Vec<AttachmentReport>,
}

impl Reported {
    /// Identifies what users wait for, as long as this process runs: what is attached, has failed,
    /// or is not there any more. That something is in progress can be reported later.
    pub(crate) fn awaited(&self) -> u64 {
        self.identify(|state| state != AttachmentState::Pending)
    }

    /// Identifies what is attached.
    pub(crate) fn attached(&self) -> u64 {
        self.identify(|state| state == AttachmentState::Attached)
    }

    fn identify(&self, is_of_interest: impl Fn(AttachmentState) -> bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        let reports = self.attachments.iter().filter(|report| is_of_interest(report.state));
        reports.for_each(|report| report.hash(&mut hasher));
        hasher.finish()
    }
}

/// Attaches and detaches what is requested, until the requests end.
pub(crate) async fn run(
    paths: &NodePaths,
    journal: Journal,
    requested: Receiver<Option<Requested>>,
    reported: Sender<Option<Reported>>,
) {
    worker::Worker::new(paths, journal, plugin::Service::new(paths.clone())).run(requested, reported).await;
}
