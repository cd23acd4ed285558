//! A node that is a virtual machine with CPUs on two NUMA nodes.

use crate::support::cluster::{kubectl, timeout, try_run};
use crate::support::images;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;
use usnet_e2e::kubernetes::images::{archives, openvswitch};
use usnet_e2e::kubernetes::kubectl::Kubectl;
use usnet_e2e::machines::packages::Packages;
use usnet_e2e::nodes::guest::{Guest, GuestSpec};
use usnet_e2e::testbed::folder::TestbedFolder;
use usnet_e2e::testbed::progress;

pub(super) const NAME: &str = "guest";
pub(super) const NUMA_NODES: u8 = 2;
/// One is reserved for programs of the node.
const CPUS: u8 = 6;
/// In the command of pause containers.
const PAUSE: &str = "2147483647";
/// With the file systems of containers, which are in memory.
const MEMORY: u32 = 5120;

/// Threads or processes with the CPUs that each may use.
type Affinities = Vec<(String, BTreeSet<u16>)>;

pub(super) struct GuestNode {
    guest: Guest,
    testbed: TestbedFolder,
}

impl GuestNode {
    /// Starts the machine, with containerd and its images.
    pub(super) fn start(packages: &Packages) -> Self {
        let testbed = TestbedFolder::new(std::env::var_os("USNET_WORLD").unwrap());
        let settings = images::settings();
        let usnet = settings.image.clone().unwrap_or_else(|| testbed.temporary().join("usnet.tar"));
        let base = archives::base_archive(&testbed, &settings).unwrap();
        let images: [PathBuf; 3] = [base, usnet, openvswitch::archive(&settings.cache).unwrap()];
        let kubelet = json!({"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"});
        let spec =
            GuestSpec { name: NAME, cpus: CPUS, memory: MEMORY, numa_nodes: NUMA_NODES, images: &images, kubelet };
        let guest = Guest::start(packages, &testbed, &settings, &spec);
        Self { guest: guest.unwrap_or_else(|error| panic!("{}", progress::with_causes(&error))), testbed }
    }

    /// Starts kubelet, waits until the node is ready, and labels it.
    pub(super) fn join(&self) {
        self.guest.start_kubelet().unwrap_or_else(|error| panic!("{}", progress::with_causes(&error)));
        Kubectl::new(&self.testbed).wait_for_existence(&[&format!("node/{NAME}")]).unwrap();
        kubectl(&["wait", "--for=condition=Ready", &format!("node/{NAME}"), timeout()]);
        kubectl(&["label", "node", NAME, &format!("{NAME}=yes")]);
    }

    pub(super) fn run(&self, script: &str) -> String {
        self.guest.machine.run(script).unwrap_or_else(|error| panic!("{}", progress::with_causes(&error)))
    }

    /// Has hugepages of 2 MiB on a NUMA node.
    pub(super) fn reserve(&self, numa_node: u8, pages: u32) {
        let file = hugepages(numa_node, "nr_hugepages");
        let reserved = self.run(&format!("echo {pages} >{file} && cat {file}"));
        assert_eq!(reserved.trim(), pages.to_string(), "the memory of NUMA node {numa_node}");
    }

    /// The free hugepages of each NUMA node.
    pub(super) fn free_hugepages(&self) -> Vec<u32> {
        let free = |node| self.run(&format!("cat {}", hugepages(node, "free_hugepages"))).trim().parse().unwrap();
        (0..NUMA_NODES).map(free).collect()
    }

    /// The CPUs that kubelet has given to a container of a pod.
    pub(super) fn given(&self, pod: &Value, container: &str) -> BTreeSet<u16> {
        let state: Value = serde_json::from_str(&self.run("cat /var/lib/kubelet/cpu_manager_state")).unwrap();
        let given = &state["entries"][pod["metadata"]["uid"].as_str().unwrap()][container];
        cpus(given.as_str().unwrap_or_else(|| panic!("none: {state}")))
    }

    /// The NUMA node that has all of these CPUs.
    pub(super) fn numa_node(&self, given: &BTreeSet<u16>) -> u8 {
        let of_node = |node: u8| cpus(&self.run(&format!("cat /sys/devices/system/node/node{node}/cpulist")));
        (0..NUMA_NODES).find(|node| given.is_subset(&of_node(*node))).unwrap_or_else(|| panic!("{given:?}"))
    }

    /// The process of the switch.
    pub(super) fn switch(&self) -> String {
        self.run("pidof ovs-vswitchd || true").trim().to_owned()
    }

    pub(super) fn switch_threads(&self) -> Affinities {
        let threads = self.affinities("/proc/$(pidof ovs-vswitchd)/task/*").into_iter();
        threads.map(|(name, used)| (name.split(' ').next().unwrap().to_owned(), used)).collect()
    }

    /// The processes of the containers of all pods. Their names are followed by their control
    /// groups. The pause containers of pods are left out: kubelet gives no CPUs to these.
    pub(super) fn processes_of_pods(&self) -> Affinities {
        let all = "$(find /sys/fs/cgroup/kubepods -name cgroup.procs -exec cat {} + | sed 's|^|/proc/|')";
        let is_pause = |name: &str| name.contains(PAUSE);
        self.affinities(all).into_iter().filter(|(name, _)| !is_pause(name)).collect()
    }

    /// The names of what is in these folders of `/proc`; what has ended meanwhile is left out.
    fn affinities(&self, folders: &str) -> Affinities {
        let script = format!(
            "for each in {folders}; do \
                 used=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' $each/status) && \
                     echo \"$used $(cat $each/comm $each/cmdline $each/cgroup | tr '\\n\\0' '  ')\"; \
             done 2>/dev/null || true"
        );
        let line = |line: &str| line.split_once(' ').map(|(used, name)| (name.trim().to_owned(), cpus(used)));
        self.run(&script).lines().filter_map(line).collect()
    }

    /// What a command of the switch prints.
    pub(super) fn appctl(&self, command: &str) -> String {
        // The process has another number in its container.
        self.run(&format!(
            "ovs-appctl --timeout=20 -t $(ls -t /run/openvswitch/ovs-vswitchd.*.ctl | head -1) {command}"
        ))
    }
}

impl Drop for GuestNode {
    fn drop(&mut self) {
        if thread::panicking() {
            let engines = ["logs", "-n", "usnet-engines", "-l", "usnet.dev/userspace-engine", "--all-containers"];
            let logs = try_run("kubectl", &[&engines[..], &["--prefix", "--tail=100"]].concat(), "");
            let logs = logs.unwrap_or_else(|error| error);
            eprintln!("=== {NAME} ===\n{}\n--- engines\n{logs}", self.guest.machine.logs());
        }
        let _ = try_run("kubectl", &["delete", "node", NAME, "--ignore-not-found"], "");
    }
}

fn hugepages(numa_node: u8, file: &str) -> String {
    format!("/sys/devices/system/node/node{numa_node}/hugepages/hugepages-2048kB/{file}")
}

/// The CPUs of a list of the kernel, `0-3,6`.
fn cpus(list: &str) -> BTreeSet<u16> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.trim().parse::<u16>().unwrap()..=last.trim().parse().unwrap()
    };
    list.split(',').filter(|part| !part.trim().is_empty()).flat_map(range).collect()
}
