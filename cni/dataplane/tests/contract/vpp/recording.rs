//! A client that records requests that change something.

use std::sync::{Arc, Mutex, PoisonError};
use usnet_dataplane::engine::NeverWaits;
use usnet_vpp::blocking::Client;
use usnet_vpp::{Answers, Api, Batch, Error, Message};

/// The names of the requests that change something, of all clients of one switch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes(Arc<Mutex<Vec<String>>>);

impl Changes {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Only a batch's names can be seen from outside, in its debug form.
    fn add(&self, batch: &Batch) {
        let names = format!("{batch:?}");
        let reads = |name: &str| ["_dump", "_get", "_get_table"].iter().any(|end| name.ends_with(end));
        let changing = names.split('"').filter(|name| name.contains('_') && !reads(name));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(changing.map(str::to_owned));
    }
}

/// See [`Changes`].
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) client: Client,
    pub(crate) changes: Changes,
}

/// Its client blocks.
impl NeverWaits for Recording {}

impl Api for Recording {
    async fn send(&mut self, batch: &Batch) -> Result<Answers, Error> {
        self.changes.add(batch);
        self.client.send(batch)
    }

    fn supports<M: Message>(&self) -> bool {
        self.client.supports::<M>()
    }
}
