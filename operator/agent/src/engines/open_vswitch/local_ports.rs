//! Keeps what bridges flood from their local ports (IO). A local port is a device of the node,
//! which is no part of the network: rules of nftables drop what it gets. Without this the switch
//! would write each broadcast, each multicast and each frame whose receiver is not known to it, by
//! a system call that takes longer than all else that is done for the frame.
//!
//! The setting goes with the process of the switch and with the port. It is made when a bridge of a
//! network is seen first and after each start of the switch, and is compared periodically. The
//! bridge of an uplink, whose local port may have the node's address, is left as it is.

use super::vswitchd_process::VswitchdProcess;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::interval;
use usnet_common::display::ErrorChain;
use usnet_dataplane::ovs::{NETWORK_KEY, UPLINK_KEY};
use usnet_openflow::{OpenFlowError, PortNumber, forwarding, socket};
use usnet_ovsdb::Bridge;
use usnet_ovsdb::asynchronous::State;

/// How often all bridges are compared.
const INTERVAL: Duration = Duration::from_secs(10);
/// A switch with many bridges answers more slowly: after a round it is left alone for this many
/// times the duration of the round.
const PAUSE: u32 = 20;
/// How long the switch may take for one bridge.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Keeps the local ports of all bridges whose management sockets are in `folder`, indefinitely.
pub(super) async fn follow(
    folder: PathBuf,
    mut states: watch::Receiver<State>,
    mut process: watch::Receiver<VswitchdProcess>,
) {
    let mut ticks = interval(INTERVAL);
    let mut kept = BTreeSet::new();
    loop {
        let is_about_all = tokio::select! {
            _ = ticks.tick() => true,
            changed = process.changed() => if changed.is_err() { return } else { kept.clear(); true },
            changed = states.changed() => if changed.is_err() { return } else { false },
        };
        let bridges = bridges(&states.borrow_and_update());
        kept.retain(|name| bridges.contains(name));
        let began = Instant::now();
        for name in bridges {
            let is_known = kept.contains(&name);
            if is_known && !is_about_all {
                continue;
            }
            match close(&folder, &name).await {
                Ok(changed) => {
                    if changed && is_known {
                        tracing::info!(bridge = name, "repaired: frames were flooded to the local port of a bridge");
                    }
                    kept.insert(name);
                }
                // A switch that does not answer for one bridge does not answer for the others
                // either.
                Err(error) if error.is_timeout() => break,
                // It has no socket yet, or another owner may have restricted it to later versions.
                Err(error) => {
                    tracing::debug!(bridge = name, error = %ErrorChain(&error), "cannot change a local port");
                    kept.remove(&name);
                }
            }
        }
        if is_about_all {
            ticks.reset_after(INTERVAL.max(began.elapsed() * PAUSE));
        }
    }
}

/// Has a bridge flood nothing to its local port. Returns whether it did.
async fn close(folder: &Path, bridge: &str) -> Result<bool, OpenFlowError> {
    let socket = socket(folder, bridge);
    let path = socket.clone();
    let ports = BTreeMap::from([(PortNumber::LOCAL, false)]);
    let request = move || forwarding::set_flooding(&path, TIMEOUT, &ports);
    let panicked = |error| Err(OpenFlowError::Connect { socket, source: io::Error::other(error) });
    Ok(spawn_blocking(request).await.unwrap_or_else(panicked)? > 0)
}

/// The names of the bridges of networks that the switch has.
fn bridges(state: &State) -> BTreeSet<String> {
    let State::Connected(snapshot) = state else { return BTreeSet::new() };
    let is_of_network = |bridge: &Bridge| {
        let has = |key: &str| bridge.external_ids.contains_key(key);
        bridge.datapath_id.is_some() && has(NETWORK_KEY) && !has(UPLINK_KEY)
    };
    let all = snapshot.cache.bridges().unwrap_or_default().into_iter();
    all.filter(is_of_network).map(|bridge| bridge.name).collect()
}
