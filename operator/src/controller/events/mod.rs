//! Events (`events.k8s.io/v1`): what happened, beside the status, which says how things are. They are sent by a task of its own: nothing waits for them.

mod notice;
mod reported;

pub use notice::{EventType, Notice, network_reference, transitions};
pub use reported::Reported;

use crate::api_error::message;
use crate::leader::REQUEST_TIMEOUT;
use kube::Client;
use kube::runtime::events::{Event, Recorder, Reporter};
use prometheus::IntCounter;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

/// The source of the events, in `kubectl describe`.
const REPORTER: &str = "usnet-controller";
/// Events that may wait. More of them than this at once come from a fault that the status describes better.
const QUEUE: usize = 256;
/// Most bytes of an event's text that the API takes.
const NOTE_MAX: usize = 1024;

/// Takes notices without waiting.
#[derive(Debug, Clone)]
pub struct Announcer {
    queue: Sender<Notice>,
    dropped: IntCounter,
}

/// The other end of an [`Announcer`].
#[derive(Debug)]
pub struct Notices(Receiver<Notice>);

/// A queue of notices with both of its ends. What it has to drop is counted.
pub fn queue(dropped: IntCounter) -> (Announcer, Notices) {
    let (queue, notices) = channel(QUEUE);
    (Announcer { queue, dropped }, Notices(notices))
}

impl Announcer {
    /// Queues an event. When too many wait already it is dropped: an event is never worth holding up work for.
    pub fn announce(&self, notice: Notice) {
        match self.queue.try_send(notice) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => self.dropped.inc(),
        }
    }
}

/// Publishes notices until every [`Announcer`] is gone. An event that fails is not tried again. `instance` names this replica.
pub async fn publish(client: Client, instance: String, mut notices: Notices) {
    let recorder = Recorder::new(client, Reporter { controller: REPORTER.to_owned(), instance: Some(instance) });
    while let Some(notice) = notices.0.recv().await {
        let event = event(&notice);
        let problem = match timeout(REQUEST_TIMEOUT, recorder.publish(&event, &notice.regarding)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => message(&error),
            Err(_) => format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()),
        };
        let (kind, object) = (&notice.regarding.kind, &notice.regarding.name);
        tracing::debug!(kind, object, reason = notice.reason, problem, "an event was not written");
    }
}

fn event(notice: &Notice) -> Event {
    let end = notice.message.floor_char_boundary(NOTE_MAX);
    Event {
        type_: notice.kind,
        reason: notice.reason.clone(),
        note: Some(notice.message.get(..end).unwrap_or_default().to_owned()),
        action: "Reconcile".to_owned(),
        secondary: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(message: &str) -> Notice {
        let regarding = network_reference("blue", "uid-1");
        Notice { regarding, kind: EventType::Normal, reason: "Ready".to_owned(), message: message.to_owned() }
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let note = event(&notice(&"ä".repeat(600))).note.unwrap();
        assert_eq!(note, "ä".repeat(512));
        let note = event(&notice(&format!("x{}", "ä".repeat(600)))).note.unwrap();
        assert_eq!(note.len(), 1023);
    }

    #[test]
    fn a_full_queue_drops_and_never_waits() {
        let dropped = IntCounter::new("dropped", "Dropped.").unwrap();
        let (announcer, mut notices) = queue(dropped.clone());
        (0..QUEUE + 5).for_each(|number| announcer.announce(notice(&number.to_string())));
        let kept: Vec<Notice> = std::iter::from_fn(|| notices.0.try_recv().ok()).collect();
        assert_eq!((kept.len(), dropped.get()), (QUEUE, 5));
        assert_eq!(kept.first().map(|notice| notice.message.as_str()), Some("0"));
    }
}
