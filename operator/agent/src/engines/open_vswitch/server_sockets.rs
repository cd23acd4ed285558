//! Moves the sockets on which the switch listens to the folders of their pods, after the switch has
//! created them again (IO). The plugin moves the first ones.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use usnet_dataplane::ovs::take_again;

/// How often the folder of the switch is read: pods are without the switch for that long after its
/// start, and without such ports it costs one system call.
const INTERVAL: Duration = Duration::from_millis(200);

/// Moves sockets indefinitely. A port whose socket cannot be moved is logged once for each error.
pub(super) async fn follow(run_directory: PathBuf) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = BTreeMap::new();
    loop {
        ticks.tick().await;
        let folder = run_directory.clone();
        let Ok(failed) = spawn_blocking(move || take_again(&folder)).await else { continue };
        let failed: BTreeMap<String, String> =
            failed.into_iter().map(|(port, error)| (port, error.to_string())).collect();
        for (port, error) in failed.iter().filter(|(port, error)| reported.get(*port) != Some(*error)) {
            tracing::warn!(
                port,
                error,
                "cannot move the socket of a port from the folder of Open vSwitch: its pod cannot connect"
            );
        }
        reported = failed;
    }
}
