//! Tests of the test bed itself: the environment of its command, and that nothing is left after its
//! end.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as tests, fail by panic too")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use usnet_e2e::host::wait;

/// Test beds use all CPUs of a machine at their start, so only one test at a time keeps its time
/// limits.
static MACHINE: Mutex<()> = Mutex::new(());

/// Folders of the programs of a real node, which a test bed must not create on the machine.
const STANDARD_FOLDERS: [&str; 8] = [
    "/etc/cni",
    "/etc/containerd",
    "/etc/kubernetes",
    "/opt/cni",
    "/run/containerd",
    "/usr/libexec/kubernetes",
    "/var/lib/containerd",
    "/var/lib/kubelet",
];

fn lock_machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the command of a test bed with one node and without usnet, which runs `script`.
fn testbed(script: &str) -> Command {
    testbed_with("both", script)
}

fn testbed_with(engine: &str, script: &str) -> Command {
    let tools = Command::new(checkout().join("e2e/tools/build")).stderr(Stdio::inherit()).output().unwrap();
    assert!(tools.status.success(), "e2e/tools/build failed");
    let mut command = Command::new(env!("CARGO_BIN_EXE_world"));
    command
        .args(["--no-install", "--nodes", "1", "--engine", engine, "--", "sh", "-c", script])
        .env("USNET_TOOLS", String::from_utf8(tools.stdout).unwrap().trim())
        .env("USNET_CHECKOUT", checkout());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn the_command_has_a_cluster_and_its_exit_status_is_that_of_the_testbed() {
    let _machine = lock_machine();
    let script = "
        kubectl get nodes --output=name
        on-node node-a sh -c 'hostname; cat; exit 3'; echo on-node: $?
        component stop kube-scheduler
        component stop kube-scheduler
        component start kube-scheduler
        component start kube-scheduler 2>&1
        on-node node-a ip -o -4 address show dev eth1
        on-node node-a ip address add 192.0.2.1/24 dev eth1 && on-fabric ip address add 192.0.2.2/24 dev fab
        on-fabric busybox ping -c 1 -W 5 192.0.2.1 | grep -o '1 packets received'
        exit 7";
    let mut child =
        testbed(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"what the caller wrote\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let expected = "node/node-a\nnode-a\nwhat the caller wrote\non-node: 3\n\
                    component: kube-scheduler is running already\n1 packets received\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(7));

    let errors = text(&output.stderr);
    let kept = errors.lines().find_map(|line| line.split_once("the logs of all programs are in ")).unwrap().1;
    let size = |name: &str| fs::metadata(Path::new(kept).join(name)).unwrap().len();
    assert!(size("kube-apiserver.log") > 0);
    assert!(size("node-a/openvswitch/ovs-vswitchd.log") > 0);
    assert!(fs::read_to_string(Path::new(kept).join("kubectl-all.txt")).unwrap().contains("node/node-a"));
    fs::remove_dir_all(kept).unwrap();
}

#[test]
fn a_pod_has_a_second_interface_and_reaches_the_api_server() {
    let _machine = lock_machine();
    let script = r#"
        set -e
        kubectl apply --filename=- >&2 <<'END'
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: blue}
spec:
  config: '{"cniVersion": "1.0.0", "name": "blue", "type": "bridge", "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}}'
---
apiVersion: v1
kind: Pod
metadata: {name: pod, annotations: {k8s.v1.cni.cncf.io/networks: blue}}
spec:
  containers: [{name: pod, image: "busybox:e2e", command: [sleep, "1000"]}]
END
        kubectl wait --for=condition=Ready pod/pod --timeout=30s >&2
        kubectl exec pod -- ip -o -4 address show net1
        kubectl exec pod -- sh -c 'printf "GET / HTTP/1.0\\r\\n\\r\\n" | nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT | head -n 1'"#;
    let output = testbed(script).stdin(Stdio::null()).output().unwrap();
    assert_success(&output);
    let found = text(&output.stdout);
    assert!(found.contains("inet 10.9.0."), "{found}");
    // This is the response of a TLS server to a request in plain text.
    assert!(found.contains("400 Bad Request"), "{found}");
}

#[test]
fn a_testbed_with_only_vpp_uses_the_simulator_on_request_and_reports_it() {
    let _machine = lock_machine();
    let script = "
        echo $USNET_WORLD_VPP
        component stop vpp node-a && component start vpp node-a && on-node node-a ls /run/vpp
        component stop ovs-vswitchd node-a 2>&1";
    let output = testbed_with("vpp", script).env("USNET_VPP", "").stdin(Stdio::null()).output().unwrap();
    assert!(text(&output.stderr).contains("VPP: simulator"), "{}", text(&output.stderr));
    let observed = text(&output.stdout);
    assert!(observed.starts_with("simulator\n") && observed.contains("\napi.sock\n"), "{observed}");
    assert!(observed.contains("there is no ovs-vswitchd on node-a"), "{observed}");
    assert_eq!(output.status.code(), Some(1));
    let kept = text(&output.stderr);
    let kept = kept.lines().find_map(|line| line.split_once("the logs of all programs are in ")).unwrap().1;
    fs::remove_dir_all(kept).unwrap();
}

#[test]
fn two_testbeds_run_side_by_side() {
    let _machine = lock_machine();
    let meeting = tempfile::tempdir().unwrap();
    let one = |own: &str, other: &str| {
        let folder = meeting.path().display();
        let script = format!(
            "kubectl create configmap {own} >&2 && touch {folder}/{own} && \
             until [ -e {folder}/{other} ]; do sleep 0.05; done && \
             kubectl get configmaps --output=name | grep -v kube-root-ca"
        );
        testbed(&script).stdin(Stdio::null()).output().unwrap()
    };
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| one("first", "second"));
        let second = scope.spawn(|| one("second", "first"));
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_success(&first);
    assert_success(&second);
    assert_eq!(text(&first.stdout), "configmap/first\n");
    assert_eq!(text(&second.stdout), "configmap/second\n");
}

#[test]
fn a_killed_testbed_leaves_nothing() {
    let _machine = lock_machine();
    let existed = STANDARD_FOLDERS.map(|folder| Path::new(folder).exists());
    let script = "
        kubectl run pod --image=busybox:e2e --command -- sleep 1000 >&2
        kubectl wait --for=condition=Ready pod/pod --timeout=30s >&2
        echo $USNET_WORLD
        sleep 1000";
    let mut launcher = testbed(script).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut folder = String::new();
    BufReader::new(launcher.stdout.take().unwrap()).read_line(&mut folder).unwrap();
    let folder = PathBuf::from(folder.trim());
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let namespace = pid_namespace_of_child(&launcher);
    assert!(processes_in(&namespace) > 10, "a test bed has more processes");
    assert!(!groups_of(&id).is_empty(), "a pod has control groups");

    launcher.kill().unwrap();
    launcher.wait().unwrap();

    assert!(wait::until(wait::limit(), || processes_in(&namespace) == 0), "processes are left");
    assert!(wait::until(wait::limit(), || !folder.exists()), "{} is left", folder.display());
    assert_eq!(groups_of(&id), Vec::<PathBuf>::new());
    assert!(wait::until(wait::limit(), || processes_naming(&id) == 0), "the janitor is left");
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&id), "mounts are left");
    assert!(!Path::new("/sys/class/net/fab0").exists(), "the test bed's bridge was on the machine");
    assert_eq!(STANDARD_FOLDERS.map(|folder| Path::new(folder).exists()), existed, "{STANDARD_FOLDERS:?}");
}

/// Returns the pid namespace of the test bed. The janitor, which is a child too, is in that of the
/// machine.
fn pid_namespace_of_child(launcher: &Child) -> PathBuf {
    let machine = fs::read_link("/proc/self/ns/pid").unwrap();
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", launcher.id())).unwrap();
    let namespaces = children.split_whitespace().map(|pid| fs::read_link(format!("/proc/{pid}/ns/pid")).unwrap());
    namespaces.into_iter().find(|namespace| *namespace != machine).unwrap()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit)))
}

fn processes_in(namespace: &Path) -> usize {
    processes().filter(|process| fs::read_link(process.join("ns/pid")).is_ok_and(|found| found == namespace)).count()
}

fn processes_naming(id: &str) -> usize {
    processes().filter(|process| fs::read(process.join("cmdline")).is_ok_and(|line| text(&line).contains(id))).count()
}

/// Returns the control groups at the top of any hierarchy with the test bed's id as their name.
fn groups_of(id: &str) -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path());
    let candidates = hierarchies.map(|hierarchy| hierarchy.join(id)).chain([root.join(id)]);
    candidates.filter(|group| group.exists()).collect()
}
