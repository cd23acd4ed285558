//! A client that records what it exchanges with VPP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use usnet_dataplane::engine::NeverWaits;
use usnet_vpp::blocking::Client;
use usnet_vpp::{Answers, Api, Batch, Error, Message};

/// What was exchanged by all clients of one switch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exchanges(Arc<Mutex<Exchanged>>);

/// What was exchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchanged {
    /// The names of all requests.
    pub(crate) requests: Vec<String>,
    /// How many messages answered them.
    pub(crate) answers: usize,
}

impl Exchanges {
    /// The names of the requests that change something.
    pub(crate) fn changes(&self) -> Vec<String> {
        let ends = ["_dump", "_get", "_get_table", "cli_inband", "table_ids", "table_info", "table_by_interface"];
        let reads = |name: &str| ends.iter().any(|end| name.ends_with(end));
        let all = self.all();
        all.requests.iter().filter(|name| !reads(name)).cloned().collect()
    }

    /// What was exchanged since this was called last.
    pub(crate) fn take(&self) -> Exchanged {
        std::mem::take(&mut *self.all())
    }

    /// Only a batch's names can be seen from outside, in its debug form.
    fn add(&self, batch: &Batch) {
        let names = format!("{batch:?}");
        let names = names.split('"').filter(|name| name.contains('_'));
        self.all().requests.extend(names.map(str::to_owned));
    }

    fn all(&self) -> MutexGuard<'_, Exchanged> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Exchanges`].
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) client: Client,
    pub(crate) exchanges: Exchanges,
}

/// Its client blocks.
impl NeverWaits for Recording {}

impl Api for Recording {
    async fn send(&mut self, batch: &Batch) -> Result<Answers, Error> {
        self.exchanges.add(batch);
        let answers = self.client.send(batch)?;
        self.exchanges.all().answers += answers.message_count();
        Ok(answers)
    }

    fn supports<M: Message>(&self) -> bool {
        self.client.supports::<M>()
    }
}
