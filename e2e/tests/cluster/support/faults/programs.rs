//! Kills programs of a node, and waits for their restart.

use crate::support::cluster::{check, eventually, get};
use crate::support::control_plane::controllers::{NAMESPACE, agent_process, signal};
use crate::support::scene::agent_pod;
use crate::support::vpp;
use std::fs;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Waits until the control socket of a program of an engine accepts connections, and returns the
/// time.
pub(crate) fn await_socket(program: &str, node: &str) -> Instant {
    if program == "vpp" {
        return vpp::await_socket(node);
    }
    let folder = format!("/proc/{}/root/run/openvswitch", vpp::process(node));
    let is_ours = |name: &str| match program {
        "ovsdb-server" => name == "db.sock",
        _ => name.starts_with(program) && name.ends_with(".ctl"),
    };
    vpp::poll_each_millisecond("the socket", || {
        let mut files = fs::read_dir(&folder).unwrap().flatten();
        files.any(|file| file.file_name().to_str().is_some_and(is_ours) && UnixStream::connect(file.path()).is_ok())
    })
}

/// Kills the agent of a node, and returns the time until the new one was ready.
pub(crate) fn kill_agent(node: &str) -> Duration {
    let pod = agent_pod(node);
    // The number of restarts, if all containers are ready.
    let restarts = || {
        let object = get(&["pod", &pod, "-n", NAMESPACE]).ok_or("the agent's pod is gone")?;
        let containers = object["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
        check(containers.iter().all(|container| container["ready"] == true), object["status"].to_string())?;
        Ok::<_, String>(containers.iter().filter_map(|container| container["restartCount"].as_u64()).sum::<u64>())
    };
    let before = eventually("a ready agent", restarts);
    let killed = Instant::now();
    signal("-KILL", &agent_process(node));
    eventually("another agent", || {
        let now = restarts()?;
        check(now > before, format!("restarted {now} times"))
    });
    killed.elapsed()
}
