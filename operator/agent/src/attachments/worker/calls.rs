//! The calls of the plugin that are in flight (IO).

use super::super::attachment::CallKind;
use super::super::plugin::Plugin;
use super::super::wanted::Wanted;
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::sandboxes::Sandbox;
use usnet_node::attach;

/// A call of the plugin, with its input.
pub(super) enum Call {
    Attach(Box<Wanted>, Sandbox),
    Detach(Box<Record>),
}

impl Call {
    pub(super) const fn kind(&self) -> CallKind {
        match self {
            Self::Attach(..) => CallKind::Attach,
            Self::Detach(_) => CallKind::Detach,
        }
    }
}

/// A call that has ended.
pub(super) struct EndedCall {
    /// The uid of the attachment's object.
    pub(super) uid: String,
    pub(super) kind: CallKind,
    pub(super) result: Result<(), attach::Error>,
}

/// The calls in flight.
pub(super) struct Calls<P> {
    plugin: P,
    running: FuturesUnordered<LocalBoxFuture<'static, EndedCall>>,
}

impl<P: Plugin> Calls<P> {
    pub(super) fn new(plugin: P) -> Self {
        Self { plugin, running: FuturesUnordered::new() }
    }

    pub(super) fn begin(&self, uid: String, call: Call) {
        let (plugin, kind) = (self.plugin.clone(), call.kind());
        self.running.push(Box::pin(async move {
            let result = match call {
                Call::Attach(wanted, sandbox) => plugin.attach(*wanted, sandbox).await,
                Call::Detach(record) => plugin.detach(*record).await,
            };
            EndedCall { uid, kind, result }
        }));
    }

    /// Waits for the end of a call; none if there is none in flight.
    pub(super) async fn next(&mut self) -> Option<EndedCall> {
        self.running.next().await
    }
}
