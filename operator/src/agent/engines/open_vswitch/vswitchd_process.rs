//! Whether the process of `ovs-vswitchd` lives (IO). Its database outlives it, and says nothing
//! while nothing is asked of it.
//!
//! The process listens at a control socket beside the socket of the database, by default
//! `ovs-vswitchd.PID.ctl` (ovs-vswitchd(8)). The kernel closes a connection to it when the process
//! ends, however it ends and whatever pid namespace it is in: this costs neither of the two
//! anything while it lives. A switch without such a socket is asked to apply a configuration
//! instead, once for each connection to the database.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_ovsdb::Transaction;
use usnet_ovsdb::asynchronous::{Handle, Snapshot};

/// How often it is looked for where it was not seen yet. An attempt is one read of a folder.
const RETRY: Duration = Duration::from_millis(250);
/// How often it is looked for after it ended: its next end is noticed only once it was found.
const RETRY_AFTER_END: Duration = Duration::from_millis(20);
/// How long after its end it may come back without a control socket to be noticed nevertheless.
const CONTROL_SOCKET_TIMEOUT: Duration = Duration::from_secs(2);

/// What is known of the process.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VswitchdProcess {
    /// Whether it accepts connections at its control socket.
    pub(super) is_running: bool,
    /// How often it was seen to end.
    pub(super) ends: u64,
    /// The configuration that it must have applied after its last end: only then its bridges and
    /// ports are there again.
    pub(super) required_cfg: i64,
}

/// Follows the process whose files are in `folder`, indefinitely.
pub(super) async fn follow(folder: PathBuf, database: Handle, process: watch::Sender<VswitchdProcess>) {
    // The connection to the database over which a configuration was requested since the last end.
    let (mut asked, mut ended) = (None, None::<Instant>);
    loop {
        // On a node without Open vSwitch this waits indefinitely.
        let Ok(snapshot) = database.connected().await else { return };
        if let Some(connection) = connect(&folder).await {
            if ended.is_some() && !has_applied(&snapshot, process.borrow().required_cfg) {
                request_configuration(&database, &process).await;
            }
            process.send_modify(|process| process.is_running = true);
            wait_for_end(&connection).await;
            process.send_modify(|process| {
                *process = VswitchdProcess { is_running: false, ends: process.ends + 1, required_cfg: i64::MAX };
            });
            (asked, ended) = (None, Some(Instant::now()));
        } else if asked != Some(snapshot.epoch)
            && ended.is_none_or(|ended| ended.elapsed() >= CONTROL_SOCKET_TIMEOUT)
            && request_configuration(&database, &process).await
        {
            asked = Some(snapshot.epoch);
        }
        sleep(if ended.is_some() { RETRY_AFTER_END } else { RETRY }).await;
    }
}

/// Whether the switch has applied this configuration already.
fn has_applied(snapshot: &Snapshot, required: i64) -> bool {
    let root = snapshot.cache.open_vswitch().ok().flatten();
    root.is_some_and(|root| root.cur_cfg >= required)
}

/// A connection to the process. The sockets of those that were killed stay in the folder, and
/// refuse it.
async fn connect(folder: &Path) -> Option<UnixStream> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name();
        let is_control_socket =
            name.to_str().is_some_and(|name| name.starts_with("ovs-vswitchd") && name.ends_with(".ctl"));
        if is_control_socket && let Ok(connection) = UnixStream::connect(entry.path()).await {
            return Some(connection);
        }
    }
    None
}

/// The process sends nothing that it was not asked for.
async fn wait_for_end(connection: &UnixStream) {
    while connection.readable().await.is_ok() {
        match connection.try_read(&mut [0; 64]) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// Asks the switch to apply the configuration once more, which it has to do after an end; returns
/// whether it was asked.
async fn request_configuration(database: &Handle, process: &watch::Sender<VswitchdProcess>) -> bool {
    let mut transaction = Transaction::new();
    let next_cfg = transaction.bump_next_cfg();
    let reply = database.transact(&transaction).await;
    let Some(number) = reply.ok().and_then(|reply| reply.next_cfg(next_cfg).ok()) else { return false };
    process.send_modify(|process| process.required_cfg = number);
    true
}
