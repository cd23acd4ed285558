//! One step of one attachment: what is reported of it, and which call is due. No IO.

use super::super::attachment::Attachment;
use super::super::plan::{self, PodRecord, Step};
use super::super::report::{Failure, attached, report};
use super::super::wanted::Wanted;
use super::calls::Call;
use super::inventory::{PodState, WAITING_INTERVAL};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use usnet_crds::conditions::message::attachment::{NO_SANDBOX, TWO_SANDBOXES};
use usnet_crds::conditions::reason;
use usnet_crds::{AttachmentReport, AttachmentState};
use usnet_dataplane::attachment::PodUid;
use usnet_dataplane::network_namespace::Presence;

/// How often it is checked whether the sandbox of an attached interface still exists.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);
/// How long an interface is kept that a node state does not request which was just created, and
/// which the controller has not written requests to.
pub(super) const GRACE: Duration = Duration::from_secs(15);
/// The generation of a node state that the controller has only created.
const FIRST_GENERATION: i64 = 1;

/// The input of one pass.
pub(super) struct Pass {
    /// The requested attachments, by the uid of their object.
    pub(super) wanted: BTreeMap<String, Wanted>,
    /// The generation of the node state.
    pub(super) generation: i64,
    /// The state of each pod, except unreadable ones.
    pub(super) pods: BTreeMap<PodUid, PodState>,
    pub(super) now: Instant,
}

/// The outcome of a step.
pub(super) enum Stepped {
    /// The attachment is neither requested nor attached any more.
    Gone,
    /// No call is due.
    Waiting(Waiting),
    CallDue(Call),
}

/// An attachment that waits for something.
pub(super) struct Waiting {
    /// After which time it is evaluated again; none if the end of its call wakes the loop.
    pub(super) recheck: Option<Duration>,
    pub(super) report: AttachmentReport,
}

/// Decides what is next for the attachment of the object `uid`.
pub(super) fn step(uid: &str, attachment: &mut Attachment, pass: &Pass) -> Stepped {
    let wanted = pass.wanted.get(uid);
    let is_wanted = wanted.is_some();
    if attachment.in_flight.is_some() {
        return waiting(None, unfinished(uid, attachment, is_wanted));
    }
    let Some(pod) = pass.pods.get(&attachment.pod) else {
        let state = if is_wanted { AttachmentState::Pending } else { AttachmentState::Detaching };
        return waiting(Some(WAITING_INTERVAL), report(uid, state, None));
    };
    let no_sandbox = |text| {
        let failure = Failure::new(reason::NO_SANDBOX, text);
        waiting(Some(WAITING_INTERVAL), report(uid, AttachmentState::Failed, Some(&failure)))
    };
    let call = match (plan::next(uid, is_wanted, &pod.records, pod.sandbox.as_ref()), wanted) {
        // Only a requested interface is attached.
        (Step::Gone, _) | (Step::Attach(_), None) => return Stepped::Gone,
        (Step::Attached(record), _) => {
            attachment.succeeded();
            return waiting(Some(INTERVAL), attached(uid, &record));
        }
        (Step::NoSandbox, _) => return no_sandbox(NO_SANDBOX),
        (Step::TwoSandboxes, _) => return no_sandbox(TWO_SANDBOXES),
        (Step::Attach(sandbox), Some(wanted)) => Call::Attach(Box::new(wanted.clone()), sandbox),
        (Step::Detach(found), _) => {
            if let Some(left) = grace(attachment, &found, pass) {
                return waiting(Some(left), unfinished(uid, attachment, is_wanted));
            }
            Call::Detach(Box::new(found.record))
        }
    };
    match attachment.retry_at.filter(|at| *at > pass.now) {
        Some(at) => waiting(Some(at - pass.now), unfinished(uid, attachment, is_wanted)),
        None => Stepped::CallDue(call),
    }
}

fn waiting(recheck: Option<Duration>, report: AttachmentReport) -> Stepped {
    Stepped::Waiting(Waiting { recheck, report })
}

/// How long an interface is still kept although nothing requests it: a node state that was deleted
/// and created again has no requests for a moment.
fn grace(attachment: &Attachment, found: &PodRecord, pass: &Pass) -> Option<Duration> {
    let is_certain = pass.generation > FIRST_GENERATION || found.presence == Presence::Gone;
    let unrequested = attachment.unrequested.map_or(GRACE, |since| pass.now.saturating_duration_since(since));
    (!is_certain && unrequested < GRACE).then(|| GRACE - unrequested)
}

/// The report of what is not done yet. An attachment that has failed is reported as failed while it
/// is tried again: otherwise each try would be two changes, for the controller and for users.
pub(super) fn unfinished(uid: &str, attachment: &Attachment, is_wanted: bool) -> AttachmentReport {
    let failure = attachment.failure.as_ref();
    let state = match (is_wanted, failure) {
        (false, _) => AttachmentState::Detaching,
        (true, Some(_)) => AttachmentState::Failed,
        (true, None) => AttachmentState::Pending,
    };
    report(uid, state, failure)
}
