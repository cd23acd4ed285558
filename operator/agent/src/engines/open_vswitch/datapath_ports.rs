//! Ports that the database has and the datapath does not (IO): the switch could not configure them,
//! for a vhost-user port because DPDK has no memory for its packets. Its row alone does not say so:
//! it has a number and no error, and once the switch has tried again also no program, although one
//! is there. The bridge lacks the port in OpenFlow, and has those that only wait for a program.
//!
//! Bridges with ports without an MTU are probed periodically. The rows of all others say enough.

use super::vswitchd_process::VswitchdProcess;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::interval;
use usnet_common::display::ErrorChain;
use usnet_dataplane::observed::{ElementState, Observed, Peer};
use usnet_dataplane::ovs::ports_without_mtu;
use usnet_dataplane::port::PortName;
use usnet_openflow::{OpenFlowError, forwarding};
use usnet_ovsdb::asynchronous::State;

/// How often bridges are probed. A probe takes a switch with few bridges a millisecond.
const INTERVAL: Duration = Duration::from_secs(10);
/// When they are probed again after something was found: before it is reported.
const AGAIN: Duration = Duration::from_secs(3);
/// When they are probed after a process of the switch was found.
const AFTER_START: Duration = Duration::from_secs(1);
/// How long the switch may take for one bridge.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The names of ports, by their bridges.
pub(super) type ByBridge = BTreeMap<String, BTreeSet<String>>;

/// Probes bridges, and keeps what the last probe of each has found.
#[derive(Debug, Clone)]
pub(super) struct DatapathProbe {
    folder: PathBuf,
    missing: Arc<watch::Sender<ByBridge>>,
}

impl DatapathProbe {
    /// Probes bridges whose management sockets are in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), missing: Arc::new(watch::Sender::new(ByBridge::new())) }
    }

    /// Subscribes to changes of the results.
    pub(super) fn subscribe(&self) -> watch::Receiver<ByBridge> {
        self.missing.subscribe()
    }

    /// Probes indefinitely.
    pub(super) async fn follow(
        self,
        mut states: watch::Receiver<State>,
        mut process: watch::Receiver<VswitchdProcess>,
    ) {
        let mut ticks = interval(INTERVAL);
        loop {
            let (is_due, changed) = tokio::select! {
                _ = ticks.tick() => (true, Ok(())),
                changed = states.changed() => (false, changed),
                // One that was started again may have more memory.
                changed = process.changed() => {
                    self.set(ByBridge::new());
                    ticks.reset_after(AFTER_START);
                    (false, changed)
                }
            };
            if changed.is_err() {
                return;
            }
            if !is_due && self.missing.borrow().is_empty() {
                continue;
            }
            let candidates = candidates(&states.borrow_and_update());
            let known = within(&self.missing.borrow(), &candidates);
            let is_new = self.set(if is_due { self.probe(candidates, known).await } else { known });
            if is_due && is_new {
                ticks.reset_after(AGAIN);
            }
        }
    }

    /// Returns the missing ports; for a bridge that does not answer in time, those that are known.
    async fn probe(&self, candidates: ByBridge, mut known: ByBridge) -> ByBridge {
        for (bridge, ports) in candidates {
            match self.ask(&bridge, ports).await {
                Ok(missing) if !missing.is_empty() => drop(known.insert(bridge, missing)),
                // A switch that does not answer for one bridge does not answer for the others
                // either.
                Err(error) if error.is_timeout() => break,
                Ok(_) | Err(_) => drop(known.remove(&bridge)),
            }
        }
        known
    }

    async fn ask(&self, bridge: &str, ports: BTreeSet<String>) -> Result<BTreeSet<String>, OpenFlowError> {
        let socket = usnet_openflow::socket(&self.folder, bridge);
        let path = socket.clone();
        let request = move || forwarding::missing_ports(&path, TIMEOUT, &ports);
        let panicked = |error| Err(OpenFlowError::Connect { socket, source: io::Error::other(error) });
        let result = spawn_blocking(request).await.unwrap_or_else(panicked);
        if let Err(error) = &result {
            tracing::debug!(bridge, error = %ErrorChain(error), "cannot read the ports of a bridge");
        }
        result
    }

    /// Replaces the results; returns whether they differ.
    fn set(&self, missing: ByBridge) -> bool {
        self.missing.send_if_modified(|last| {
            let differs = *last != missing;
            *last = missing;
            differs
        })
    }

    /// The results of the last probe.
    pub(super) fn missing(&self) -> ByBridge {
        self.missing.borrow().clone()
    }

    /// Adds the results to what the database says.
    pub(super) fn add_to(&self, observed: &mut Observed) {
        add(&self.missing.borrow(), observed);
    }
}

/// A port that the database has as connected is judged by its row.
fn add(missing: &ByBridge, observed: &mut Observed) {
    for (bridge, names) in missing {
        let Some(bridge) = observed.bridges.get_mut(bridge) else { continue };
        for name in names {
            let port = bridge.ports.get_mut(&PortName::observed(name));
            if let Some(port) = port.filter(|port| port.state == ElementState::Running && port.peer == Peer::Absent) {
                port.state = ElementState::NoMemory;
            }
        }
    }
}

/// Whether a port is not missing any more.
pub(super) fn has_recovered(last: &ByBridge, now: &ByBridge) -> bool {
    last.iter().any(|(bridge, names)| now.get(bridge).is_none_or(|still| !names.is_subset(still)))
}

fn candidates(state: &State) -> ByBridge {
    match state {
        State::Connected(snapshot) => ports_without_mtu(&snapshot.cache).unwrap_or_default(),
        State::Disconnected { .. } => ByBridge::new(),
    }
}

/// The missing ports that may still be missing: one that has an MTU since works.
fn within(missing: &ByBridge, candidates: &ByBridge) -> ByBridge {
    let still = |(bridge, names): (&String, &BTreeSet<String>)| {
        let still: BTreeSet<String> = names.intersection(candidates.get(bridge)?).cloned().collect();
        (!still.is_empty()).then(|| (bridge.clone(), still))
    };
    missing.iter().filter_map(still).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{bridge_of, network, port_of, record};
    use usnet_dataplane::observed::ObservedPort;

    fn ports(bridge: &str, names: &[&str]) -> ByBridge {
        [(bridge.to_owned(), names.iter().map(ToString::to_string).collect())].into()
    }

    #[test]
    fn a_missing_port_without_a_program_has_no_memory() {
        let (name, mut bridge) = bridge_of(&network("blue"));
        let record = record("c1", &network("blue"));
        for (peer, state) in [(Peer::Absent, ElementState::NoMemory), (Peer::Connected, ElementState::Running)] {
            bridge.ports.insert(record.port.name.clone(), ObservedPort { peer, ..port_of(&record) });
            let mut observed = Observed { bridges: [(name.clone(), bridge.clone())].into(), ..Observed::default() };
            add(&ports(name.as_str(), &[record.port.name.as_str(), "gone"]), &mut observed);
            assert_eq!(observed.bridges[&name].ports[&record.port.name].state, state);
            add(&ports("br-gone", &["gone"]), &mut observed);
        }
    }

    #[test]
    fn a_port_that_has_an_mtu_since_is_not_missing() {
        let missing = ports("br-blue", &["one", "two"]);
        assert_eq!(within(&missing, &ports("br-blue", &["two", "three"])), ports("br-blue", &["two"]));
        assert_eq!(within(&missing, &ports("br-blue", &["three"])), ByBridge::new());
        assert_eq!(within(&missing, &ByBridge::new()), ByBridge::new());
    }

    #[test]
    fn a_port_has_recovered_once_it_is_not_missing_any_more() {
        let missing = ports("br-blue", &["one", "two"]);
        for (now, recovered) in [
            (missing.clone(), false),
            (ports("br-blue", &["one", "two", "three"]), false),
            (ports("br-blue", &["one"]), true),
            (ByBridge::new(), true),
        ] {
            assert_eq!(has_recovered(&missing, &now), recovered, "{now:?}");
        }
        assert!(!has_recovered(&ByBridge::new(), &missing));
    }
}
