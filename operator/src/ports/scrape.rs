//! What `/metrics/ports` answers.

use super::exposition;
use super::reader::{PortReader, Reading};
use crate::display::ErrorChain;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_dataplane::journal;
use usnet_dataplane::paths::NodePaths;

/// How long an answer is given again: Open vSwitch counts no more often.
const KEPT: Duration = Duration::from_secs(5);

/// Reads the counters of a node when they are asked for, once at a time.
#[derive(Debug)]
pub struct PortScrape {
    node: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    reader: PortReader,
    failures: BTreeMap<EngineKind, u64>,
    kept: Option<(Instant, Arc<str>)>,
}

impl PortScrape {
    /// Of the node that has its files at `paths`.
    #[must_use]
    pub fn new(node: String, paths: NodePaths) -> Self {
        let state = State { reader: PortReader::new(paths), failures: BTreeMap::new(), kept: None };
        Self { node, state: Arc::new(Mutex::new(state)) }
    }

    /// The metrics of all ports, a few seconds old at most. The engines are read on a thread of
    /// their own, because they may take their time.
    ///
    /// # Errors
    /// Why there are none, for the client.
    pub async fn text(&self) -> Result<Arc<str>, String> {
        let (node, state) = (self.node.clone(), Arc::clone(&self.state));
        let read = move || state.lock().unwrap_or_else(PoisonError::into_inner).text(&node, Instant::now());
        match tokio::task::spawn_blocking(read).await {
            Ok(text) => text.map_err(|error| ErrorChain(&error).to_string()),
            Err(_) => Err("the counters of this node could not be read".to_owned()),
        }
    }
}

impl State {
    fn text(&mut self, node: &str, now: Instant) -> Result<Arc<str>, journal::Error> {
        if let Some((read, text)) = &self.kept
            && now.saturating_duration_since(*read) < KEPT
        {
            return Ok(Arc::clone(text));
        }
        let reading = self.reader.read()?;
        self.count(&reading);
        let text: Arc<str> = exposition::text(node, &reading, &self.failures).into();
        self.kept = Some((now, Arc::clone(&text)));
        Ok(text)
    }

    fn count(&mut self, reading: &Reading) {
        for failure in &reading.failures {
            tracing::debug!(engine = %failure.engine, error = failure.message, "cannot read the counters of ports");
            *self.failures.entry(failure.engine).or_default() += 1;
        }
    }
}
