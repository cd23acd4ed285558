//! A node that loses its power and boots again.

use crate::support::cluster::{check, condition, eventually, get, on_node, run, try_run};
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::scene::{Scene, agent_pod};
use crate::support::vpp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The programs of a node, in the order in which it starts them.
const PROGRAMS: [&str; 5] = ["ovsdb-server", "ovs-vswitchd", "vpp", "containerd", "kubelet"];

/// Kills all processes of a node, and empties what does not outlive a boot.
pub(crate) fn lose(node: &str) {
    for pid in processes(node) {
        // It may have ended with another one.
        let _gone = kill(pid, Signal::SIGKILL);
    }
    PROGRAMS.iter().for_each(|program| drop(run("component", &["stop", program, node])));
    on_node(node, &["sh", "-c", EMPTIED]);
    remove_cgroups(node);
}

/// Starts the programs of the node again.
pub(crate) fn boot(node: &str) {
    // kubelet ends while containerd still reads what was there; a service manager starts it again.
    PROGRAMS.iter().for_each(|program| {
        eventually("the programs of the node run", || try_run("component", &["start", program, node], "").map(drop));
    });
}

/// The containers of a node's pods at one time: those of a scene, and the agent's.
pub(crate) struct Containers<'a> {
    scene: &'a Scene,
    node: &'a str,
    by_pod: BTreeMap<String, String>,
}

impl<'a> Containers<'a> {
    /// Those of now.
    pub(crate) fn of(scene: &'a Scene, node: &'a str) -> Self {
        let by_pod = pods(scene, node).into_iter().map(|pod| (name(&pod), container(&pod))).collect();
        Self { scene, node, by_pod }
    }

    /// Waits until all of these pods have others, which are ready.
    pub(crate) fn await_others(&self) {
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

/// What a boot takes away: VXLAN devices, mounts, and all files in memory. One unmount can take
/// another mount along, so that mounts are listed again until none can be unmounted: those of the
/// machine itself are hidden below the node's. The folders are made by the packages of the engines.
const EMPTIED: &str = "mounts() {
    awk '{print $5}' /proc/self/mountinfo | grep -E '^/(run|dev/shm|var/lib/(kubelet|containerd))/' | sort -r
}
ip -o link show type vxlan | cut -d: -f2 | while read -r device; do ip link del \"$device\"; done
for pass in 1 2 3 4 5; do
    mounts | while read -r folder; do umount -l \"$folder\" 2>/dev/null; done
done
left=$(mounts | while read -r folder; do umount -l \"$folder\" 2>/dev/null && echo \"$folder\"; done)
[ -z \"$left\" ] || { echo \"still mounted: $left\" >&2; exit 1; }
find /run /dev/shm -mindepth 1 -delete && mkdir -p /run/openvswitch /run/vpp /run/lock";

/// Removes the pods' cgroups, as a boot does. kubelet takes 3 s for each container that it finds
/// there.
fn remove_cgroups(node: &str) {
    let folder = std::env::var("USNET_WORLD").unwrap();
    let testbed = folder.rsplit('/').next().unwrap();
    let find = format!("find /sys/fs/cgroup -depth -type d -path '*/{testbed}/{node}/kubepods/*pod*'");
    let script = format!("{find} -exec rmdir {{}} + 2>&1; ! {find} | grep .");
    // A process that was killed is in its cgroup until it has ended.
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

/// The processes of the node: those that have its mounts, and what they have started. The one that
/// holds its namespaces stands for the machine.
fn processes(node: &str) -> BTreeSet<Pid> {
    let mounts = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let machine = vpp::process(node);
    let of_node = mounts(&machine);
    let mut parents = BTreeMap::new();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().filter(|name| name.parse::<i32>().is_ok()).map(str::to_owned) else {
            continue;
        };
        if pid != machine && mounts(&pid) == of_node {
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
    // The program's name may have spaces.
    stat.rsplit_once(") ")?.1.split(' ').nth(1).map(str::to_owned)
}
