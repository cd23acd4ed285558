//! At most one status a second for each network, however many nodes report. Pure: the clock is the caller's.

use super::diff::Write;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::reason::STARTING;
use usnet_crds::conditions::{READY, Status, find};

/// The shortest time between two statuses of one network.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// When the status of each network was written last.
#[derive(Debug, Default)]
pub struct Throttle {
    networks: BTreeMap<String, Last>,
    /// Networks that have a status to come, and from when on.
    waiting: BTreeMap<String, Instant>,
}

#[derive(Debug)]
struct Last {
    uid: String,
    at: Instant,
    /// The generation that was said to be ready last.
    ready_generation: Option<i64>,
}

impl Throttle {
    /// Takes out the statuses that come too soon after the last one of their network. What comes back is when the first of all that wait is due.
    ///
    /// Two kinds never wait, because who applies a network waits for them and they come once: the first word on a network, and that a generation is ready.
    pub fn hold_back(&mut self, writes: &mut Vec<Write>, now: Instant) -> Option<Instant> {
        writes.retain(|write| {
            let Write::Status { network, uid, status, .. } = write else { return true };
            match self.due(network, uid, status, now) {
                Ok(()) => {
                    self.waiting.remove(network);
                    true
                }
                Err(later) => {
                    self.waiting.insert(network.clone(), later);
                    false
                }
            }
        });
        self.waiting.values().min().copied()
    }

    /// Whether a status of this network has to wait.
    pub fn is_waiting(&self, network: &str) -> bool {
        self.waiting.contains_key(network)
    }

    /// Networks whose status need not wait any longer, each once.
    pub fn released(&mut self, now: Instant) -> Vec<String> {
        self.waiting.extract_if(.., |_, due| *due <= now).map(|(network, _)| network).collect()
    }

    /// Forgets networks that are gone.
    pub fn keep(&mut self, exists: impl Fn(&str) -> bool) {
        self.networks.retain(|network, _| exists(network));
        self.waiting.retain(|network, _| exists(network));
    }

    fn due(&mut self, network: &str, uid: &str, status: &UserspaceNetworkStatus, now: Instant) -> Result<(), Instant> {
        let (ready, generation) = (find(&status.conditions, READY), status.observed_generation);
        if ready.is_some_and(|ready| ready.reason == STARTING) {
            return Ok(());
        }
        let is_ready = ready.is_some_and(|ready| ready.status == Status::True.as_str());
        let last = self.networks.get(network).filter(|last| last.uid == uid);
        let was_ready = last.and_then(|last| last.ready_generation);
        let is_first_ready = is_ready && was_ready != generation;
        if let Some(last) = last.filter(|last| !is_first_ready && now < last.at + INTERVAL) {
            return Err(last.at + INTERVAL);
        }
        let ready_generation = if is_ready { generation } else { was_ready };
        self.networks.insert(network.to_owned(), Last { uid: uid.to_owned(), at: now, ready_generation });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
