//! The queue of events, and the task that sends them (IO).

use super::record::EventRecord;
use crate::leader::REQUEST_TIMEOUT;
use kube::Client;
use kube::runtime::events::{Event, Recorder, Reporter};
use prometheus::IntCounter;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use usnet_common::api::error::message;
use usnet_crds::conditions::reason::ENGINE_ENDED;

/// The source of the events, in `kubectl describe`.
const REPORTER: &str = "usnet-controller";
/// Capacity of the queue. More events than this at once come from a fault that the status describes
/// better; the memory for them is bounded, and dropped ones are counted.
const QUEUE: usize = 256;
/// The API's limit for the note of an event, in bytes.
const NOTE_MAX: usize = 1024;

#[derive(Debug, Clone)]
pub struct EventRecorder {
    queue: Sender<EventRecord>,
    dropped: IntCounter,
}

/// The receiving end of an [`EventRecorder`].
#[derive(Debug)]
pub struct EventReceiver(Receiver<EventRecord>);

/// Creates the queue of events. `dropped` counts events that do not fit.
pub fn queue(dropped: IntCounter) -> (EventRecorder, EventReceiver) {
    let (queue, records) = channel(QUEUE);
    (EventRecorder { queue, dropped }, EventReceiver(records))
}

impl EventRecorder {
    /// Queues an event. It is dropped when the queue is full: an event must never delay work.
    pub fn record(&self, record: EventRecord) {
        match self.queue.try_send(record) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => self.dropped.inc(),
        }
    }
}

/// Publishes events until every [`EventRecorder`] is dropped. A failed event is not retried.
/// `instance` names this replica.
pub async fn publish(client: Client, instance: String, mut records: EventReceiver) {
    let new = || {
        let reporter = Reporter { controller: REPORTER.to_owned(), instance: Some(instance.clone()) };
        Recorder::new(client.clone(), reporter)
    };
    let shared = new();
    while let Some(record) = records.0.recv().await {
        let event = event(&record);
        // A recorder counts events of one object and reason for minutes as one, with the first
        // text. Each end of an engine has pods of its own.
        let recorder = if record.reason == ENGINE_ENDED { new() } else { shared.clone() };
        let problem = match timeout(REQUEST_TIMEOUT, recorder.publish(&event, &record.regarding)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => message(&error),
            Err(_) => format!("no response within {} s", REQUEST_TIMEOUT.as_secs()),
        };
        let (kind, object) = (&record.regarding.kind, &record.regarding.name);
        tracing::debug!(kind, object, reason = record.reason, problem, "cannot write an event");
    }
}

fn event(record: &EventRecord) -> Event {
    let end = record.message.floor_char_boundary(NOTE_MAX);
    Event {
        type_: record.kind,
        reason: record.reason.clone(),
        note: Some(record.message.get(..end).unwrap_or_default().to_owned()),
        action: "Reconcile".to_owned(),
        secondary: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{EventType, network_reference};
    use super::*;
    use usnet_common::testing::api_server::{Answer, ApiServer};

    fn record(message: &str) -> EventRecord {
        let regarding = network_reference("blue", "uid-1");
        EventRecord { regarding, kind: EventType::Normal, reason: "Ready".to_owned(), message: message.to_owned() }
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let note = event(&record(&"ä".repeat(600))).note.unwrap();
        assert_eq!(note, "ä".repeat(512));
        let note = event(&record(&format!("x{}", "ä".repeat(600)))).note.unwrap();
        assert_eq!(note.len(), 1023);
    }

    #[test]
    fn a_full_queue_drops_and_never_waits() {
        let dropped = IntCounter::new("dropped", "Dropped.").unwrap();
        let (event_recorder, mut records) = queue(dropped.clone());
        (0..QUEUE + 5).for_each(|number| event_recorder.record(record(&number.to_string())));
        let kept: Vec<EventRecord> = std::iter::from_fn(|| records.0.try_recv().ok()).collect();
        assert_eq!((kept.len(), dropped.get()), (QUEUE, 5));
        assert_eq!(kept.first().map(|record| record.message.as_str()), Some("0"));
    }

    /// How many events are created when two are published.
    async fn created(published: [EventRecord; 2]) -> usize {
        let answer =
            r#"{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": null}"#;
        let server = ApiServer::choosing(move |_| Some(Answer::ok(answer.to_owned())));
        let (event_recorder, records) = queue(IntCounter::new("dropped", "Dropped.").unwrap());
        published.into_iter().for_each(|record| event_recorder.record(record));
        drop(event_recorder);
        publish(server.client(), "one".to_owned(), records).await;
        assert_eq!(server.requests().len(), 2);
        server.requests().iter().filter(|request| request.starts_with("POST")).count()
    }

    #[tokio::test]
    async fn each_end_of_an_engine_is_an_event_with_its_own_text() {
        let both =
            |reason: &str| ["first", "second"].map(|text| EventRecord { reason: reason.to_owned(), ..record(text) });
        assert_eq!((created(both("Ready")).await, created(both(ENGINE_ENDED)).await), (1, 2));
    }

    #[tokio::test]
    async fn events_about_two_interfaces_of_a_pod_are_not_counted_as_one() {
        let both = |interfaces: [&str; 2]| {
            interfaces.map(|interface| {
                let mut record = record("no memory");
                record.regarding.field_path = Some(interface.to_owned());
                record
            })
        };
        assert_eq!(created(both(["interfaces{net1}", "interfaces{net2}"])).await, 2);
        assert_eq!(created(both(["interfaces{net1}", "interfaces{net1}"])).await, 1);
    }
}
