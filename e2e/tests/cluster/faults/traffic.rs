//! All traffic between the pods.

use super::program::{self, Programs};
use super::stream::{self, Stream};
use super::table::Sample;
use super::{NETWORKS, Network};
use crate::support::cluster::{apply, get};
use crate::support::pods::{sleeping_pod, wait_running};
use crate::support::scene::Scene;
use crate::support::vpp;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

/// What moves between the pods.
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

    /// Begins an interval.
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
    let [from, to] =
        [0, 1].map(|number| get(&["pod", &format!("{}-{number}", network.name), "-n", &scene.name]).unwrap());
    Stream::start(network.engine, &process(&from), &process(&to), &address(&to))
}

fn process(pod: &Value) -> String {
    let id = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
    stream::process(id.strip_prefix("containerd://").unwrap())
}

/// The pod's address on its network, as Multus wrote it.
fn address(pod: &Value) -> String {
    let status = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    let status: Value = serde_json::from_str(status).unwrap();
    let ours = status.as_array().unwrap().iter().find(|entry| entry["interface"] == "net1").unwrap();
    ours["ips"][0].as_str().unwrap().to_owned()
}
