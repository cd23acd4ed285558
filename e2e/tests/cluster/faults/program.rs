//! DPDK programs in pods that send to each other: what each has counted, by the times in its log.

use super::Network;
use crate::support::cluster::{check, eventually, get};
use crate::support::pods::{NODE, dpdk_pod};
use crate::support::scene::Scene;
use crate::support::stream::Sample;
use crate::support::testpmd::{Driver, Program, counter_in};
use crate::support::vpp;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The programs of the pods of a network.
pub(super) struct Programs {
    /// The name in the table.
    pub(super) name: &'static str,
    /// The folder of the logs of each.
    logs: Vec<PathBuf>,
}

/// A pod of a network with such a program. Six of them share two cores with a whole cluster.
pub(super) fn pod(scene: &Scene, name: &str, network: &Network) -> Value {
    let driver = if network.port == "Memif" { Driver::Memif } else { Driver::VhostServer };
    let mut pod = dpdk_pod(scene, name, network.name, Program { driver, mode: "flowgen", reconnects: true });
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "10m"}, "limits": {"cpu": "200m"}});
    pod
}

impl Programs {
    /// The programs of a network whose pods run.
    pub(super) fn of(scene: &Scene, name: &'static str, network: &Network) -> Self {
        let logs = network.pod_names().map(|pod| {
            let uid = get(&["pod", &pod, "-n", &scene.name]).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
            let node = vpp::process(NODE);
            format!("/proc/{node}/root/var/log/pods/{}_{pod}_{uid}/main", scene.name).into()
        });
        let programs = Self { name, logs: logs.collect() };
        programs.await_growth(Timestamp::now());
        programs
    }

    /// Waits until all have received more since that time, and sums up what they have received
    /// since `start`. The gap is the longest one of any.
    pub(super) fn end(&self, start: Timestamp) -> Sample {
        self.await_growth(Timestamp::now());
        let mut sample = Sample::default();
        for folder in &self.logs {
            let mut last = start;
            for (time, packets) in growth(folder).into_iter().filter(|(time, _)| *time > start) {
                sample.packets += packets;
                sample.gap = sample.gap.max(Duration::try_from(time - last).unwrap_or_default());
                last = time;
            }
        }
        sample
    }

    fn await_growth(&self, since: Timestamp) {
        for folder in &self.logs {
            eventually("a program that receives", || {
                let last = growth(folder).last().map(|(time, _)| *time);
                check(
                    last.is_some_and(|last| last > since),
                    format!("{}: {last:?}; {}", folder.display(), said(folder)),
                )
            });
        }
    }
}

/// Whether the program in the newest container of a pod is connected, by its last output.
fn said(folder: &PathBuf) -> String {
    let files = logs(folder);
    let text = files.last().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let words: Vec<&str> =
        text.lines().rev().filter(|line| line.contains("memif") || line.contains("ink")).take(8).collect();
    format!("{} containers, last lines, newest first: {words:?}", files.len())
}

/// The logs of all containers of a pod, the newest last.
fn logs(folder: &PathBuf) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    // By the number of the container: 10.log comes after 9.log.
    files.sort_by_key(|file| file.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok()));
    files
}

/// When the count of received packets has grown, and by how many. Each container of a pod has a
/// log of its own, and begins at 0.
fn growth(folder: &PathBuf) -> Vec<(Timestamp, u64)> {
    let mut found = Vec::new();
    for file in logs(folder) {
        let text = fs::read_to_string(file).unwrap_or_default();
        let mut before = 0;
        for line in text.lines() {
            let (Some(count), Some((time, _))) = (counter_in(line), line.split_once(' ')) else { continue };
            // A restart of a port sets the count back.
            if let (Ok(grown), Ok(time)) = (u64::try_from(count - before), time.parse())
                && grown > 0
            {
                found.push((time, grown));
            }
            before = count;
        }
    }
    found
}
