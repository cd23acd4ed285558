//! What metrics say of guarded bridges: the frames that their flows have refused, and the
//! connections of networks with policies, which are limited (IO).

use crate::report::metrics::Metrics;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::spawn_blocking;
use usnet_common::display::ErrorChain;
use usnet_dataplane::ovs::connection_limits::{self, LimitedZone};
use usnet_dataplane::ovs::refused_frames::{Drops, Refusal};

/// How long the switch may take for the limits of all networks.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What was counted until now.
#[derive(Debug)]
pub(super) struct Counted {
    folder: PathBuf,
    metrics: Metrics,
    /// By the names of bridges.
    drops: BTreeMap<String, Drops>,
    /// The zones whose connections were limited since the start of the switch.
    limited: BTreeSet<u16>,
}

impl Counted {
    pub(super) fn new(folder: &Path, metrics: Metrics) -> Self {
        Self { folder: folder.to_owned(), metrics, drops: BTreeMap::new(), limited: BTreeSet::new() }
    }

    /// The process of the switch ended or began: its flows are new, and no zone has a limit.
    pub(super) fn forget(&mut self) {
        self.drops.values_mut().for_each(Drops::clear);
        self.limited.clear();
    }

    pub(super) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.drops.retain(|bridge, _| is_there(bridge));
    }

    /// Counts what the flows of a network's bridge have dropped since the last time.
    pub(super) fn dropped(&mut self, bridge: &str, network: &str, now: Drops) {
        for (refusal, frames) in since(self.drops.get(bridge), &now) {
            self.metrics.frames_refused(network, refusal.name(), frames);
        }
        self.drops.insert(bridge.to_owned(), now);
    }

    /// Limits the connections of networks, by their zones, and sets how many there are. Unless it
    /// `is_about_all` networks, this is done only if there is one whose connections are not
    /// limited.
    pub(super) async fn limit(&mut self, networks: &BTreeMap<u16, String>, is_about_all: bool) {
        let is_new = networks.keys().any(|zone| !self.limited.contains(zone));
        if !is_about_all && !is_new {
            return;
        }
        let zones: Vec<u16> = networks.keys().copied().collect();
        let folder = self.folder.clone();
        let keep = move || connection_limits::keep(&folder, TIMEOUT, &zones);
        let found = if networks.is_empty() { Ok(Ok(Vec::new())) } else { spawn_blocking(keep).await };
        match found {
            Ok(Ok(found)) => {
                self.limited = found.iter().map(|limited| limited.zone).collect();
                self.metrics.policy_connections(&of_networks(&found, networks));
            }
            Ok(Err(error)) => tracing::warn!(
                error = %ErrorChain(&error),
                "cannot limit the connections of networks with policies: pods of one network can use up the table of all"
            ),
            // The thread panicked, which it has logged.
            Err(_) => {}
        }
    }
}

/// The name of each network with its connections and their limit.
fn of_networks<'a>(found: &[LimitedZone], networks: &'a BTreeMap<u16, String>) -> BTreeMap<&'a str, [u32; 2]> {
    let of =
        |limited: &LimitedZone| Some((networks.get(&limited.zone)?.as_str(), [limited.connections, limited.limit]));
    found.iter().filter_map(of).collect()
}

/// What was dropped since the last reading. The counter of a flow that was written again begins at
/// 0. At the first one it is not known since when the flows are there.
fn since(last: Option<&Drops>, now: &Drops) -> BTreeMap<Refusal, u64> {
    let mut more = BTreeMap::new();
    let Some(last) = last else { return more };
    for (flow, (refusal, frames)) in now {
        let before = last.get(flow).map_or(0, |(_, frames)| *frames);
        let count = frames.checked_sub(before).unwrap_or(*frames);
        if count > 0 {
            *more.entry(*refusal).or_default() += count;
        }
    }
    more
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_openflow::flow::Cookie;

    fn drops(flows: &[(u64, Refusal, u64)]) -> Drops {
        flows.iter().map(|(cookie, refusal, frames)| ((0, 10, Cookie(*cookie)), (*refusal, *frames))).collect()
    }

    #[test]
    fn what_flows_drop_is_counted_once_also_when_they_are_written_again() {
        let first = drops(&[(1, Refusal::Forged, 7), (2, Refusal::Received, 3)]);
        assert_eq!(since(None, &first), BTreeMap::new());
        let second = drops(&[(1, Refusal::Forged, 9), (2, Refusal::Received, 1), (3, Refusal::Forged, 4)]);
        let expected = BTreeMap::from([(Refusal::Forged, 6), (Refusal::Received, 1)]);
        assert_eq!(since(Some(&first), &second), expected);
        assert_eq!(since(Some(&second), &second), BTreeMap::new());
        assert_eq!(since(Some(&second), &drops(&[])), BTreeMap::new());
    }

    #[test]
    fn connections_are_those_of_the_network_of_their_zone() {
        let networks = BTreeMap::from([(7, "blue".to_owned()), (8, "red".to_owned())]);
        let zone = |zone, connections| LimitedZone { zone, limit: 10, connections };
        let found = of_networks(&[zone(7, 1), zone(9, 2)], &networks);
        assert_eq!(found, BTreeMap::from([("blue", [1, 10])]));
    }
}
