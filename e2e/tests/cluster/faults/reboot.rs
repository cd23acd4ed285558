//! A node that loses its power and boots again.

use super::NETWORKS;
use super::disk;
use super::engine;
use super::fault::Recovery;
use super::traffic::Traffic;
use crate::support::cluster::{check, eventually};
use crate::support::faults::power::{self, Containers};
use crate::support::pods::NODE;
use crate::support::scene::{Scene, wait_ready};
use std::time::Instant;

/// Kills all processes of the node, empties what does not outlive a boot, and starts it again.
pub(super) fn reboot(scene: &Scene, traffic: &mut Traffic) -> Recovery {
    // They hold the network namespaces of pods, which a power failure takes along.
    traffic.stop_streams();
    let before = Containers::of(scene, NODE);
    power::cut(NODE);
    disk::mount_run_again();

    let booted = Instant::now();
    power::boot(NODE);
    before.await_replacement();
    eventually("all ports are back", || {
        NETWORKS.iter().try_for_each(|network| {
            let ports = engine::ports(network.engine, network.name);
            check(ports == Some(network.pods), format!("{}: {ports:?}", network.name))
        })
    });
    let ports = Some(booted.elapsed());
    NETWORKS.iter().for_each(|network| wait_ready(network.name));
    let ready = Some(booted.elapsed());
    traffic.start_streams(scene);
    Recovery { not_ready: None, ports, packets: Some(booted.elapsed()), ready }
}
