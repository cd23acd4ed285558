//! A node that loses power and boots again.

use crate::support::cluster::{check, condition, eventually, get, on_node, run, try_run};
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::scene::{Scene, agent_pod};
use crate::support::vpp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The programs of a node, in the order of their start.
const PROGRAMS: [&str; 5] = ["ovsdb-server", "ovs-vswitchd", "vpp", "containerd", "kubelet"];

/// Cuts the power of a node: kills all its processes, and removes what does not survive a boot.
pub(crate) fn cut(node: &str) {
    for pid in processes(node) {
        // The process may have ended with another one.
        let _gone = kill(pid, Signal::SIGKILL);
    }
    PROGRAMS.iter().for_each(|program| drop(run("component", &["stop", program, node])));
    on_node(node, &["sh", "-c", REMOVE_VOLATILE]);
    remove_cgroups(node);
}

/// Starts the programs of the node again.
pub(crate) fn boot(node: &str) {
    // kubelet exits while containerd still reads its state; a service manager would restart it.
    PROGRAMS.iter().for_each(|program| {
        eventually("the programs of the node run", || try_run("component", &["start", program, node], "").map(drop));
    });
}

/// The containers of a node's pods, those of a scene and the agent's, at one time.
pub(crate) struct Containers<'a> {
    scene: &'a Scene,
    node: &'a str,
    by_pod: BTreeMap<String, String>,
}

impl<'a> Containers<'a> {
    /// Reads the present containers.
    pub(crate) fn of(scene: &'a Scene, node: &'a str) -> Self {
        let by_pod = pods(scene, node).into_iter().map(|pod| (name(&pod), container(&pod))).collect();
        Self { scene, node, by_pod }
    }

    /// Waits until all of these pods have new containers that are ready.
    pub(crate) fn await_replacement(&self) {
        eventually("all pods run again", || {
            let pods = pods(self.scene, self.node);
            check(pods.len() == self.by_pod.len(), format!("{} pods", pods.len()))?;
            pods.iter().try_for_each(|pod| {
                let is_new = self.by_pod.get(&name(pod)) != Some(&container(pod));
                let is_ready = condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True");
                check(is_new && is_ready, format!("{}: {}", name(pod), pod["status"]))
            })
        });
    }
}

/// Removes what does not survive a boot: VXLAN devices, mounts, and all files in memory. Mounts are
/// listed again until none can be unmounted, because one unmount can remove others; those of the
/// machine are hidden below. The folders are those of the packages of the engines.
const REMOVE_VOLATILE: &str = "mounts() {
    awk '{print $5}' /proc/self/mountinfo | grep -E '^/(run|dev/shm|var/lib/(kubelet|containerd))/' | sort -r
}
ip -o link show type vxlan | cut -d: -f2 | while read -r device; do ip link del \"$device\"; done
for pass in 1 2 3 4 5; do
    mounts | while read -r folder; do umount -l \"$folder\" 2>/dev/null; done
done
left=$(mounts | while read -r folder; do umount -l \"$folder\" 2>/dev/null && echo \"$folder\"; done)
[ -z \"$left\" ] || { echo \"still mounted: $left\" >&2; exit 1; }
find /run /dev/shm -mindepth 1 -delete && mkdir -p /run/openvswitch /run/vpp /run/lock";

/// Removes the cgroups of pods, as a boot does. kubelet needs 3 s for each container that it finds.
fn remove_cgroups(node: &str) {
    let folder = std::env::var("USNET_WORLD").unwrap();
    let testbed = folder.rsplit('/').next().unwrap();
    let find = format!("find /sys/fs/cgroup -depth -type d -path '*/{testbed}/{node}/kubepods/*pod*'");
    let script = format!("{find} -exec rmdir {{}} + 2>&1; ! {find} | grep .");
    // A killed process stays in its cgroup until it has ended.
    eventually("the cgroups of pods are gone", || try_run("on-node", &[node, "sh", "-c", &script], "").map(drop));
}

fn pods(scene: &Scene, node: &str) -> Vec<Value> {
    let selector = format!("--field-selector=spec.nodeName={node}");
    let pods = get(&["pods", "-n", &scene.name, &selector]).unwrap();
    let mut pods = pods["items"].as_array().cloned().unwrap_or_default();
    pods.extend(get(&["pod", &agent_pod(node), "-n", NAMESPACE]));
    pods
}

fn name(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap().to_owned()
}

fn container(pod: &Value) -> String {
    pod["status"]["containerStatuses"][0]["containerID"].to_string()
}

/// Returns the processes of the node: those with its mounts, and their descendants, except for the
/// holder of its namespaces.
fn processes(node: &str) -> BTreeSet<Pid> {
    let mounts = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let holder = vpp::process(node);
    let of_node = mounts(&holder);
    let mut parents = BTreeMap::new();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().filter(|name| name.parse::<i32>().is_ok()).map(str::to_owned) else {
            continue;
        };
        if pid != holder && mounts(&pid) == of_node {
            found.insert(pid.clone());
        }
        parents.insert(pid.clone(), parent(&pid));
    }
    let is_below = |pid: &String| {
        let ancestors = std::iter::successors(Some(pid.clone()), |pid| parents.get(pid).cloned().flatten());
        ancestors.into_iter().any(|ancestor| found.contains(&ancestor))
    };
    parents.keys().filter(|pid| is_below(pid)).map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

fn parent(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may have spaces.
    stat.rsplit_once(") ")?.1.split(' ').nth(1).map(str::to_owned)
}
