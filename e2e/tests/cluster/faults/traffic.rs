//! All traffic between the pods.

use super::program::{self, Programs};
use super::{NETWORKS, Network};
use crate::support::cluster::apply;
use crate::support::pods::{sleeping_pod, wait_running};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::stream::{Sample, Stream};
use crate::support::vpp;
use k8s_openapi::jiff::Timestamp;

/// The traffic between the pods.
pub(super) struct Traffic {
    streams: Vec<Stream>,
    programs: Vec<Programs>,
}

/// The start of an interval.
pub(super) struct Start {
    /// The number of the first datagram of each stream.
    first: Vec<u64>,
    time: Timestamp,
}

impl Traffic {
    /// Starts all pods, and waits until packets arrive at each.
    pub(super) fn start(scene: &Scene) -> Self {
        let has_packets = vpp::moves_packets("packets over VPP during faults");
        let moves = |network: &Network| network.engine == "OVS" || has_packets;
        for network in &NETWORKS {
            for pod in network.pod_names() {
                apply(&match network.port != "Veth" && moves(network) {
                    true => program::pod(scene, &pod, network),
                    false => sleeping_pod(scene, &pod, network.name),
                });
            }
        }
        NETWORKS.iter().flat_map(Network::pod_names).for_each(|pod| wait_running(scene, &pod));
        let programs = NETWORKS.iter().filter(|network| network.port != "Veth" && moves(network));
        let programs = programs.map(|network| Programs::of(scene, network.port, network)).collect();
        let mut traffic = Self { streams: Vec::new(), programs };
        traffic.start_streams(scene);
        traffic
    }

    /// Starts the streams between the pods as they are now.
    pub(super) fn start_streams(&mut self, scene: &Scene) {
        let networks = NETWORKS.iter().filter(|network| network.port == "Veth");
        let networks = networks.filter(|network| network.engine == "OVS" || vpp::is_real());
        self.streams = networks.map(|network| between_pods(scene, network)).collect();
    }

    /// Ends all streams.
    pub(super) fn stop_streams(&mut self) {
        self.streams.clear();
    }

    /// The stream over an engine.
    pub(super) fn stream(&self, engine: &str) -> Option<&Stream> {
        self.streams.iter().find(|stream| stream.engine == engine)
    }

    /// Starts an interval.
    pub(super) fn begin(&self) -> Start {
        Start { first: self.streams.iter().map(Stream::begin).collect(), time: Timestamp::now() }
    }

    /// Waits until all of it flows, and counts the interval.
    pub(super) fn end(&self, start: &Start) -> Vec<(&'static str, Sample)> {
        let streams = self.streams.iter().zip(&start.first).map(|(stream, first)| (stream.engine, stream.end(*first)));
        let programs = self.programs.iter().map(|programs| (programs.name, programs.end(start.time)));
        streams.chain(programs).collect()
    }
}

fn between_pods(scene: &Scene, network: &Network) -> Stream {
    let [from, to] = [0, 1].map(|number| Station::of_pod(scene, &format!("{}-{number}", network.name)));
    Stream::start(network.engine, &from, &to)
}
