//! Detects the end of the `ovs-vswitchd` process (IO). The database outlives it, and does not show
//! its end while no change is requested.
//!
//! The process listens at a control socket beside the socket of the database, by default
//! `ovs-vswitchd.PID.ctl` (ovs-vswitchd(8)). The kernel closes a connection to it when the process
//! ends, in any way and in any pid namespace, and the open connection costs neither side anything.
//! A switch without such a socket is asked to apply a configuration instead, once for each
//! connection to the database.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_ovsdb::Transaction;
use usnet_ovsdb::asynchronous::{Handle, Snapshot};

/// Delay between attempts to find the process before it was ever seen. An attempt reads one folder.
const RETRY: Duration = Duration::from_millis(250);
/// Delay between attempts after it ended: its next end is noticed only once it was found.
const RETRY_AFTER_END: Duration = Duration::from_millis(20);
/// How long after its end the process may take to create a control socket, before it is asked for a
/// configuration without one.
const CONTROL_SOCKET_TIMEOUT: Duration = Duration::from_secs(2);

/// The state of the process.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VswitchdProcess {
    /// Whether the process accepts connections at its control socket.
    pub(super) is_running: bool,
    /// How often the process was seen to end.
    pub(super) ends: u64,
    /// The configuration that it must have applied after its last end: only then its bridges and
    /// ports exist again.
    pub(super) required_cfg: i64,
}

/// Follows the process whose files are in `folder`, indefinitely.
pub(super) async fn follow(folder: PathBuf, database: Handle, process: watch::Sender<VswitchdProcess>) {
    // The database connection over which a configuration was requested since the last end.
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

/// Connects to the process. The sockets of killed processes stay in the folder, and refuse
/// connections.
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

/// Waits until the process closes the connection. It sends nothing without a request.
async fn wait_for_end(connection: &UnixStream) {
    while connection.readable().await.is_ok() {
        match connection.try_read(&mut [0; 64]) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// Asks the switch to apply the configuration once more, which shows that it runs again; returns
/// whether the request was recorded.
async fn request_configuration(database: &Handle, process: &watch::Sender<VswitchdProcess>) -> bool {
    let mut transaction = Transaction::new();
    let next_cfg = transaction.bump_next_cfg();
    let reply = database.transact(&transaction).await;
    let Some(number) = reply.ok().and_then(|reply| reply.next_cfg(next_cfg).ok()) else { return false };
    process.send_modify(|process| process.required_cfg = number);
    true
}
