//! Moves the sockets on which the switch listens to the folders of their pods, after the switch has
//! created them again, and removes folders without a port (IO). The plugin moves the first socket,
//! and removes the folder with the port.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use usnet_dataplane::ovs::{ServerSocket, ports_with_folders, take_again};
use usnet_ovsdb::asynchronous::State;

/// How often the folder of the switch is read: pods are without the switch for that long after its
/// start, and without such ports it costs one system call.
const INTERVAL: Duration = Duration::from_millis(200);
/// How long a folder stays without its port: another client may have deleted a port, which is then
/// created again, and a DEL that was not called is made up for by garbage collection.
const GRACE: Duration = Duration::from_secs(60);

/// Moves and removes indefinitely.
pub(super) async fn follow(run_directory: PathBuf, states: watch::Receiver<State>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut reported, mut leftovers) = (BTreeMap::new(), Leftovers::default());
    loop {
        ticks.tick().await;
        let folder = run_directory.clone();
        let Ok((failed, ports)) = spawn_blocking(move || (take_again(&folder), ports_with_folders(&folder))).await
        else {
            continue;
        };
        let failed = failed.into_iter().map(|(port, error)| (port, error.to_string())).collect();
        report(&failed, &reported);
        reported = failed;
        let Some(in_switch) = names_of_ports(&states.borrow()).filter(|_| !ports.is_empty()) else { continue };
        leftovers.update(ports, &in_switch, Instant::now()).iter().for_each(|port| remove(&run_directory, port));
    }
}

/// Logs each error once.
fn report(failed: &BTreeMap<String, String>, reported: &BTreeMap<String, String>) {
    for (port, error) in failed.iter().filter(|(port, error)| reported.get(*port) != Some(*error)) {
        tracing::warn!(port, error, "cannot move the socket of a port of Open vSwitch: its pod cannot connect");
    }
}

/// The ports of the switch, if the agent is connected to its database.
fn names_of_ports(state: &State) -> Option<BTreeSet<String>> {
    let State::Connected(snapshot) = state else { return None };
    Some(snapshot.cache.ports().ok()?.into_iter().map(|port| port.name).collect())
}

fn remove(run_directory: &Path, port: &str) {
    match ServerSocket::in_run_directory(run_directory, port).remove() {
        Ok(()) => tracing::info!(port, "removed the folder of a socket whose port is gone"),
        Err(error) => tracing::warn!(port, %error, "cannot remove the folder of a socket whose port is gone"),
    }
}

/// The folders without a port, with the time when that was noticed. Pure.
#[derive(Debug, Default)]
struct Leftovers(BTreeMap<String, Instant>);

impl Leftovers {
    /// Returns the folders that have had no port for the grace.
    fn update(&mut self, folders: Vec<String>, in_switch: &BTreeSet<String>, now: Instant) -> Vec<String> {
        let without_port: BTreeSet<String> = folders.into_iter().filter(|port| !in_switch.contains(port)).collect();
        self.0.retain(|port, _| without_port.contains(port));
        let is_over = |port: &String, since: &mut BTreeMap<String, Instant>| {
            now.duration_since(*since.entry(port.clone()).or_insert(now)) >= GRACE
        };
        without_port.into_iter().filter(|port| is_over(port, &mut self.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_when_its_port_has_been_gone_for_a_minute() {
        let (mut leftovers, start) = (Leftovers::default(), Instant::now());
        let mut at = |second: u64, ports: &[&str]| {
            let in_switch = ports.iter().map(|port| (*port).to_owned()).collect();
            let folders = vec!["vhu1".to_owned(), "vhu2".to_owned()];
            leftovers.update(folders, &in_switch, start + Duration::from_secs(second))
        };
        assert_eq!(at(0, &["vhu1"]), [""; 0]);
        // The time of a port that was recreated starts with its next deletion.
        assert_eq!(at(50, &["vhu2"]), [""; 0]);
        assert_eq!(at(70, &[]), [""; 0]);
        assert_eq!(at(110, &[]), ["vhu1"]);
        assert_eq!(at(130, &[]), ["vhu1", "vhu2"]);
    }
}
