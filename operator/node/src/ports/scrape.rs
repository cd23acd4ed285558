//! Answers `/metrics/ports` (IO).

use super::exposition;
use super::reader::PortReader;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use usnet_common::display::ErrorChain;
use usnet_common::telemetry::PortMetrics;
use usnet_crds::EngineKind;
use usnet_dataplane::journal;
use usnet_dataplane::paths::NodePaths;
use usnet_node_output::ports::Reading;

/// How long an answer is reused. Open vSwitch does not count more often.
const KEPT: Duration = Duration::from_secs(5);

/// Reads the counters of a node on request, one reading at a time.
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
    #[must_use]
    pub fn new(node: String, paths: NodePaths) -> Self {
        let state = State { reader: PortReader::new(paths), failures: BTreeMap::new(), kept: None };
        Self { node, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns the metrics of all ports, at most a few seconds old. The engines are read on a
    /// thread of their own, because they may be slow.
    ///
    /// # Errors
    /// A text for the client.
    pub(super) async fn read(&self) -> Result<Arc<str>, String> {
        let (node, state) = (self.node.clone(), Arc::clone(&self.state));
        let read = move || state.lock().unwrap_or_else(PoisonError::into_inner).text(&node, Instant::now());
        match tokio::task::spawn_blocking(read).await {
            Ok(text) => text.map_err(|error| ErrorChain(&error).to_string()),
            Err(_) => Err("the counters of this node could not be read".to_owned()),
        }
    }
}

impl PortMetrics for PortScrape {
    fn text(&self) -> BoxFuture<'_, Result<Arc<str>, String>> {
        self.read().boxed()
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
