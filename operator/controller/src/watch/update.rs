//! What a watch reports.

use crate::cache::attachments::{Attachment, FoundPod, ObjectName};
use crate::cache::reservations::Reservation;
use crate::cache::{Compiled, Nad, NadKey, Namespace, Network, Node, NodeSlice, NodeState, Uplink};
use crate::write::Target;
use crate::write::guards::DELETED;
use kube::runtime::watcher::{self, Event};

/// The watched kinds. Their `Debug` form is a field of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Networks,
    Compiled,
    Namespaces,
    Nodes,
    NodeStates,
    NodeSlices,
    Uplinks,
    Nads,
    Attachments,
    Reservations,
    /// Not watched, but read one by one.
    Pods,
}

/// An event of one kind. Networks and uplinks are boxed, as they are the largest.
#[derive(Debug)]
pub(crate) enum ObjectEvent {
    Network(Box<Event<(String, Network)>>),
    Compiled(Event<(String, Compiled)>),
    Namespace(Event<(String, Namespace)>),
    Node(Event<(String, Node)>),
    NodeState(Event<(String, NodeState)>),
    NodeSlice(Event<(String, NodeSlice)>),
    Uplink(Box<Event<(String, Uplink)>>),
    Nad(Event<(NadKey, Nad)>),
    Attachment(Box<Event<(ObjectName, Attachment)>>),
    Reservation(Box<Event<(ObjectName, Reservation)>>),
    Pod(ObjectName, FoundPod),
    /// The object of this target was read and does not exist.
    Absent(Target),
}

/// An event with the resourceVersion of its object, or the error of a watch.
#[derive(Debug)]
pub(crate) struct WatchUpdate {
    pub(super) kind: Kind,
    pub(super) version: u64,
    pub(super) result: Result<ObjectEvent, Box<watcher::Error>>,
}

impl WatchUpdate {
    /// An object that was read.
    pub(crate) fn found(version: u64, seen: ObjectEvent) -> Self {
        let kind = match &seen {
            ObjectEvent::Network(_) => Kind::Networks,
            ObjectEvent::Compiled(_) => Kind::Compiled,
            ObjectEvent::Namespace(_) => Kind::Namespaces,
            ObjectEvent::Node(_) => Kind::Nodes,
            ObjectEvent::NodeState(_) => Kind::NodeStates,
            ObjectEvent::NodeSlice(_) => Kind::NodeSlices,
            ObjectEvent::Uplink(_) => Kind::Uplinks,
            ObjectEvent::Attachment(_) => Kind::Attachments,
            ObjectEvent::Reservation(_) => Kind::Reservations,
            ObjectEvent::Pod(..) => Kind::Pods,
            ObjectEvent::Nad(_) | ObjectEvent::Absent(_) => Kind::Nads,
        };
        Self { kind, version, result: Ok(seen) }
    }

    /// An object that was read and does not exist.
    pub(crate) fn absent(target: &Target) -> Self {
        Self::found(DELETED, ObjectEvent::Absent(target.clone()))
    }
}
