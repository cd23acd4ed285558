//! A killed engine.

use super::fault::Recovery;
use super::networks_of;
use crate::support::cluster::{run, try_run, vsctl};
use crate::support::faults::programs::await_socket;
use crate::support::pods::NODE;
use crate::support::scene::{ENGINE_GONE, await_condition, wait_ready};
use crate::support::stream::Stream;
use crate::support::vpp;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// Kills a program of an engine, and starts it again once the engine's networks are not ready.
pub(super) fn kill(program: &'static str, engine: &str, stream: Option<&Stream>) -> Recovery {
    let networks = networks_of(Some(engine));
    let expected: BTreeMap<&str, usize> =
        networks.iter().map(|network| (*network, ports(engine, network).unwrap_or_default())).collect();
    let dead = Instant::now();
    run("component", &["stop", program, NODE]);
    networks.iter().for_each(|network| drop(await_condition(network, "Ready", "False", ENGINE_GONE)));
    let not_ready = Some(dead.elapsed());

    let starter = thread::spawn(move || run("component", &["start", program, NODE]));
    let socket = await_socket(program, NODE);
    let ports = (program != "ovsdb-server").then(|| {
        let are_back = || expected.iter().all(|(network, count)| ports(engine, network) == Some(*count));
        vpp::poll_each_millisecond("the ports", are_back) - socket
    });
    let packets = stream.map(|stream| stream.await_arrival_after(dead.max(socket)) - socket);
    networks.iter().for_each(|network| wait_ready(network));
    let ready = Some(socket.elapsed());
    starter.join().unwrap();
    Recovery { not_ready, ports, packets, ready }
}

/// Returns the number of ports of a network in the running engine; `None` while it does not
/// respond.
pub(super) fn ports(engine: &str, network: &str) -> Option<usize> {
    if engine == "VPP" {
        return Some(vpp::try_ports(NODE, network).ok()??.len());
    }
    // The database has them also while the switch is dead.
    let observed = try_run("on-node", &[NODE, "ovs-appctl", "--timeout=5", "dpif/show"], "").ok()?;
    let names = vsctl(NODE, &["list-ports", &format!("br-{network}")]);
    let is_listed = |name: &&str| observed.lines().any(|line| line.split_whitespace().next() == Some(*name));
    Some(names.lines().filter(is_listed).count())
}

/// The targets of the recovery times.
pub(super) const PORTS_TARGET: Duration = Duration::from_millis(500);
pub(super) const READY_TARGET: Duration = Duration::from_secs(2);
