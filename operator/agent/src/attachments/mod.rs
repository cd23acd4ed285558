//! Interfaces that `UserspaceAttachment`s request for running pods. The controller names them in
//! the node state; the agent reads neither the objects nor pods.
//!
//! For each of them the [`plan`] says what is next, from the pod's records and its sandbox. The
//! [`plugin`] attaches and detaches, called through the service for attachments. The [`worker`]
//! keeps the calls in flight, of which each namespace has a share ([`slots`]), repeats what fails,
//! and publishes what is reported. All that it knows follows from the journal, so that a restart
//! loses nothing.

mod attachment;
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

/// The attachments that the node state requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requested {
    /// The generation of the node state.
    pub(crate) generation: i64,
    pub(crate) attachments: Vec<RequestedAttachment>,
}

/// The attachments that the node has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reported {
    /// The generation of the node state that this report is about.
    pub(crate) generation: i64,
    /// The requested attachments, and those that are no longer requested and not detached yet, by
    /// uid.
    pub(crate) attachments: Vec<AttachmentReport>,
}

impl Reported {
    /// A hash of what users wait for: what is attached, has failed, or is gone. Changes of what is
    /// only in progress can be reported later. Valid within this process.
    pub(crate) fn awaited(&self) -> u64 {
        self.identify(|state| state != AttachmentState::Pending)
    }

    /// A hash of what is attached.
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

/// Attaches what is requested and detaches the rest, until the channel of requests closes.
pub(crate) async fn run(
    paths: &NodePaths,
    journal: Journal,
    requested: Receiver<Option<Requested>>,
    reported: Sender<Option<Reported>>,
) {
    worker::Worker::new(paths, journal, plugin::Service::new(paths.clone())).run(requested, reported).await;
}
