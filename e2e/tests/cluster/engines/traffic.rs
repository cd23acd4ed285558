//! Numbered packets between two pods of each node.

use crate::support::cluster::apply;
use crate::support::pods::{sleeping_pod, wait_running};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::stream::{Sample, Stream};

/// Traffic on each node, which ends when this is dropped.
pub(super) struct Traffic<'a> {
    scene: &'a Scene,
    streams: Vec<(&'static str, Stream)>,
}

impl<'a> Traffic<'a> {
    /// Creates two pods on each node, and waits until packets arrive.
    pub(super) fn start(scene: &'a Scene, network: &str, nodes: &[&'static str]) -> Self {
        let names = |node: &str| ["from", "to"].map(|end| format!("{end}-{node}"));
        for node in nodes {
            for name in names(node) {
                let mut pod = sleeping_pod(scene, &name, network);
                pod["spec"]["nodeName"] = (*node).into();
                apply(&pod);
            }
        }
        nodes.iter().flat_map(|node| names(node)).for_each(|name| wait_running(scene, &name));
        let stream = |node: &&'static str| {
            let [from, to] = names(node).map(|name| Station::of_pod(scene, &name));
            (*node, Stream::start("OVS", &from, &to))
        };
        Self { scene, streams: nodes.iter().map(stream).collect() }
    }

    /// Starts an interval; returns the number of the first packet of each node.
    pub(super) fn begin(&self) -> Vec<u64> {
        self.streams.iter().map(|(_, stream)| stream.begin()).collect()
    }

    /// Waits until packets arrive on each node, and returns the counts of the interval.
    pub(super) fn end(&self, first: &[u64]) -> Vec<(&'static str, Sample)> {
        self.streams.iter().zip(first).map(|((node, stream), first)| (*node, stream.end(*first))).collect()
    }

    /// Ends the traffic, and deletes the pods.
    pub(super) fn stop(self) {
        let names = self.streams.iter().flat_map(|(node, _)| ["from", "to"].map(|end| format!("{end}-{node}")));
        let names: Vec<String> = names.collect();
        drop(self.streams);
        self.scene.delete_pods(names.iter().map(String::as_str));
    }
}
