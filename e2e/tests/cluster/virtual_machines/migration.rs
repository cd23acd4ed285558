//! Live migration of a guest to a QEMU on another node, by QEMU's own protocol.

use super::RIGHT;
use super::figures::{Figures, seconds};
use super::machine::Machine;
use crate::support::cluster::{NODES, check, eventually};
use k8s_openapi::jiff::Timestamp;

/// Moves a guest to a pod of that name on the other node, whose port has the same MAC address, and
/// gives the machine there. `peer` pings it meanwhile.
pub(super) fn migrate<'a>(
    source: Machine<'a>,
    network: &str,
    peer: &Machine<'_>,
    name: &str,
    figures: &mut Figures,
) -> Machine<'a> {
    let node = if source.node == NODES[0] { NODES[1] } else { NODES[0] };
    let target = source.apply_target(name, network, node, RIGHT);
    target.await_pod();
    target.start();
    let mut waiting = target.monitor();
    assert_eq!(waiting.status(), "inmigrate");
    assert_eq!(target.description()["mac"], RIGHT.mac);

    peer.await_answers();
    let begun = Timestamp::now();
    let migrated = source.monitor().migrate(&target.migration_address());
    eventually("the guest runs on the other node", || {
        let status = waiting.status();
        check(status == "running", status)
    });
    // QEMU serves one client at a time.
    drop(waiting);
    let outage = peer.console.await_outage(begun, Timestamp::now());
    // The guest's own program went on where it was.
    let last = source.console.answers().last().copied().unwrap();
    target.await_answers();
    let first = target.console.answers().first().copied().unwrap();
    assert!(first.1 > last.1, "the guest's pings do not go on: {last:?}, {first:?}");
    target.assert_untouched(0);

    let title = "live migration: longest time between two answers, requests lost";
    figures.add(title, format!("{}, {}", seconds(outage.gap), outage.lost));
    figures.add("live migration: guest stopped, as QEMU says", seconds(migrated.downtime));
    figures.add("live migration: from request to end", seconds(migrated.total));
    source.delete();
    target
}
