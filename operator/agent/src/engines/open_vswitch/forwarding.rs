//! How bridges forward, as far as the database does not say it: their flows, and the OpenFlow
//! configuration of their ports (IO). The bridges of usnet are probed over their management
//! sockets, after each start of the switch and then periodically, because the switch reports such
//! changes to controllers only. A bridge of another owner is also probed as soon as it is seen
//! first. A bridge that was never probed, or whose switch has its sockets elsewhere, counts as
//! forwarding.

use super::vswitchd_process::VswitchdProcess;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::interval;
use usnet_common::display::ErrorChain;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::{NETWORK_KEY, UPLINK_KEY};
use usnet_openflow::OpenFlowError;
use usnet_openflow::forwarding::{self, Flooding, Forwarding};
use usnet_ovsdb::asynchronous::State;
use usnet_ovsdb::{Bridge, Uuid};

/// How often all bridges are probed. A probe takes a switch with few bridges a millisecond.
const INTERVAL: Duration = Duration::from_secs(10);
/// A switch with many bridges answers more slowly: after a round it is not probed for this many
/// times the duration of the round.
const PAUSE: u32 = 4;
/// How long the switch may take for one bridge. It answers between two changes of its
/// configuration, each of which takes it some 100 ms with a thousand ports.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The result of the last probe, by the name of the bridge.
pub(super) type ByBridge = BTreeMap<String, Forwarding>;

/// Probes bridges, and keeps the last result of each.
#[derive(Debug, Clone)]
pub(super) struct ForwardingProbe {
    folder: PathBuf,
    seen: Arc<watch::Sender<ByBridge>>,
}

impl ForwardingProbe {
    /// Probes bridges whose management sockets are in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), seen: Arc::new(watch::Sender::new(ByBridge::new())) }
    }

    /// Subscribes to changes of the results.
    pub(super) fn subscribe(&self) -> watch::Receiver<ByBridge> {
        self.seen.subscribe()
    }

    /// Probes all bridges indefinitely.
    pub(super) async fn follow(
        self,
        mut states: watch::Receiver<State>,
        mut process: watch::Receiver<VswitchdProcess>,
    ) {
        let mut ticks = interval(INTERVAL);
        loop {
            let is_about_all = tokio::select! {
                _ = ticks.tick() => true,
                changed = process.changed() => if changed.is_err() { return } else { true },
                changed = states.changed() => if changed.is_err() { return } else { false },
            };
            let Interest { bridges, ports } = Interest::of(&states.borrow_and_update(), is_about_all);
            if is_about_all {
                self.seen.send_if_modified(|seen| {
                    let before = seen.len();
                    seen.retain(|name, _| bridges.get(name).is_some_and(|kind| *kind != Kind::Guarded));
                    seen.len() != before
                });
            }
            // A new bridge of usnet forwards, and is not probed at once: many may be created
            // together, and the switch is busy with them.
            let is_new = |name: &String| !self.seen.borrow().contains_key(name);
            let is_due = |name: &&String| is_about_all || (bridges.get(*name) == Some(&Kind::Others) && is_new(name));
            let began = Instant::now();
            let due: Vec<&String> = bridges.keys().filter(is_due).collect();
            for name in due {
                let kind = bridges.get(name);
                let probed = match kind {
                    Some(Kind::Guarded) => Ok(()),
                    _ => self.probe(name.clone()).await,
                };
                match probed {
                    Ok(()) => {}
                    // A switch that does not answer for one bridge does not answer for the others
                    // either.
                    Err(error) if error.is_timeout() => break,
                    // Another owner may have restricted the bridge to later versions of OpenFlow.
                    Err(_) => continue,
                }
                if is_about_all && kind != Some(&Kind::Others) {
                    // Policies decide what guarded bridges flood to.
                    let flooding = if kind == Some(&Kind::Guarded) { Flooding::AsItIs } else { Flooding::ToAll };
                    self.open_ports(name, &ports, flooding).await;
                }
            }
            if is_about_all {
                ticks.reset_after(INTERVAL.max(began.elapsed() * PAUSE));
            }
        }
    }

    /// Opens ports of usnet that another client has closed. This is not an operation of a plan: a
    /// port whose device is gone stays closed, which must not make its network fail.
    async fn open_ports(&self, name: &str, ports: &Arc<BTreeSet<String>>, flooding: Flooding) {
        let ports = Arc::clone(ports);
        let open = move |socket: &Path, timeout| forwarding::open_ports(socket, timeout, &ports, flooding);
        match self.ask(name, open).await {
            Ok(opened) if !opened.is_empty() => {
                tracing::info!(bridge = name, ports = ?opened, "repaired: another client had closed ports in OpenFlow");
            }
            Ok(_) | Err(_) => {}
        }
    }

    async fn probe(&self, name: String) -> Result<(), OpenFlowError> {
        let forwarding = self.ask(&name, forwarding::look).await?;
        self.seen.send_if_modified(|seen| seen.insert(name, forwarding) != Some(forwarding));
        Ok(())
    }

    /// Makes a bridge forward as a learning switch again, if the last probe found that it does not.
    /// A bridge that was never probed is left alone.
    pub(super) async fn restore(&self, name: &str) -> Result<(), OpenFlowError> {
        if self.seen.borrow().get(name).is_none_or(|seen| seen.is_normal) {
            return Ok(());
        }
        self.ask(name, forwarding::restore).await?;
        self.probe(name.to_owned()).await
    }

    /// Sends a request on a thread of its own: the switch may take its time, and nothing else waits
    /// for it.
    async fn ask<T: Send + 'static>(
        &self,
        name: &str,
        request: impl FnOnce(&Path, Duration) -> Result<T, OpenFlowError> + Send + 'static,
    ) -> Result<T, OpenFlowError> {
        let socket = usnet_openflow::socket(&self.folder, name);
        let path = socket.clone();
        let panicked = |error| Err(OpenFlowError::Connect { socket, source: io::Error::other(error) });
        let result = spawn_blocking(move || request(&path, TIMEOUT)).await.unwrap_or_else(panicked);
        if let Err(error) = &result {
            tracing::debug!(bridge = name, error = %ErrorChain(error), "cannot read the flows of a bridge");
        }
        result
    }

    /// Adds the results to what the database says.
    pub(super) fn add_to(&self, observed: &mut Observed) {
        for (name, seen) in self.seen.borrow().iter() {
            let Some(bridge) = observed.bridges.get_mut(name) else { continue };
            if bridge.settings.is_guarded == Some(true) && bridge.owner.is_some() {
                continue;
            }
            if bridge.owner.is_some() {
                bridge.has_supported_datapath &= seen.is_normal;
            } else if !seen.has_normal && bridge.adoption_blocker.is_none() {
                bridge.adoption_blocker = Some(NOT_FORWARDING.to_owned());
            }
        }
    }
}

/// The fail mode of guarded bridges.
const SECURE: &str = "secure";

/// Why a bridge whose flows never use the table of MAC addresses cannot be adopted.
const NOT_FORWARDING: &str = "no flow of it has the action NORMAL, so that it forwards nothing by itself (its fail_mode is \
     secure, or a controller decides)";

/// Whose bridge it is, and how it forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of usnet, a switch that learns.
    Learning,
    /// Of usnet, with flows of which `guards` takes care.
    Guarded,
    Others,
}

/// The bridges to probe.
struct Interest {
    /// The names of the bridges.
    bridges: BTreeMap<String, Kind>,
    /// The names of the ports of usnet on any bridge.
    ports: Arc<BTreeSet<String>>,
}

impl Interest {
    /// Selects the bridges of usnet, and other bridges that may not forward, which a network may
    /// adopt. Flows of the remaining bridges are not of interest, and may be many. `with_ports`
    /// also selects other bridges with ports of usnet.
    fn of(state: &State, with_ports: bool) -> Self {
        let State::Connected(snapshot) = state else {
            return Self { bridges: BTreeMap::new(), ports: Arc::default() };
        };
        let is_of_usnet =
            |ids: &BTreeMap<String, String>| [NETWORK_KEY, UPLINK_KEY].iter().any(|key| ids.contains_key(*key));
        let ports = if with_ports { snapshot.cache.ports().unwrap_or_default() } else { Vec::new() };
        let ports: BTreeMap<Uuid, String> = ports
            .into_iter()
            .filter(|port| is_of_usnet(&port.external_ids))
            .map(|port| (port.uuid, port.name))
            .collect();
        let bridge = |bridge: Bridge| {
            let is_owned = is_of_usnet(&bridge.external_ids);
            let may_not_forward = bridge.fail_mode.is_some() || !bridge.controller.is_empty();
            let has_port = bridge.ports.iter().any(|port| ports.contains_key(port));
            let is_of_interest = bridge.datapath_id.is_some() && (is_owned || may_not_forward || has_port);
            let is_network = bridge.external_ids.contains_key(NETWORK_KEY);
            let kind = match (is_owned, bridge.fail_mode.as_deref()) {
                (false, _) => Kind::Others,
                (true, Some(SECURE)) if is_network => Kind::Guarded,
                (true, _) => Kind::Learning,
            };
            is_of_interest.then_some((bridge.name, kind))
        };
        let bridges = snapshot.cache.bridges().unwrap_or_default().into_iter().filter_map(bridge).collect();
        Self { bridges, ports: Arc::new(ports.into_values().collect()) }
    }
}
