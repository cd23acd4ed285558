//! The plugin is killed between any two steps of ADD or DEL: the next DEL, or the next ADD, cleans
//! up.

use crate::support::engine::on_each_engine;
use crate::support::ipam::{PLUGINS, host_local, install, reserved_ips};
use crate::support::pod::Pod;
use crate::support::wait::await_that;
use crate::support::{NETWORK, TestNode, configuration, port_types};
use nix::mount::{MsFlags, mount};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use usnet_crds::{EngineKind, Port, PortType};
use usnet_plugin::attachment::{attach, detach};

on_each_engine! {
    del_cleans_up_after_an_interrupted_add,
    add_recovers_after_an_interrupted_add,
    del_resumes_after_an_interrupted_del,
    add_works_after_an_interrupted_del,
    an_incomplete_mount_is_cleaned_up,
    a_call_that_is_killed_at_any_moment_is_cleaned_up,
    addresses_assigned_after_their_call_was_killed_are_released,
}

/// How often a call is killed, each time a little later.
const KILLS: u32 = 24;

/// The port types of the node's engine.
pub(super) fn port_types_of(node: &TestNode) -> Vec<Port> {
    match node.engine.kind() {
        EngineKind::OpenVswitch => vec![port_types::vhost_user(), port_types::vhost_user_server(), port_types::veth()],
        EngineKind::Vpp => port_types::all().into_iter().chain([port_types::veth()]).collect(),
    }
}

fn uses_volume(port: &Port) -> bool {
    port.port_type != PortType::Veth && *port != port_types::memif_in_namespace()
}

/// Programs the network, with addresses where host-local was built.
fn program(node: &TestNode, port: &Port) {
    node.program_network_with(NETWORK, port, host_local());
}

/// The orders of the steps of ADD: for a veth, addresses may be assigned after the port is created;
/// Open vSwitch may create a port before the directory of its socket is mounted.
fn step_orders_of(node: &TestNode, port: &Port) -> Vec<[attach::Step; 7]> {
    match (node.engine.kind(), port.port_type) {
        (_, PortType::Veth) => vec![attach::Step::ALL, attach::Step::IPAM_AFTER_PORT],
        (EngineKind::OpenVswitch, _) => vec![attach::Step::DIRECTORY_AFTER_PORT],
        (EngineKind::Vpp, _) => vec![attach::Step::ALL],
    }
}

fn run_add_steps(node: &TestNode, pod: &Pod, steps: &[attach::Step]) {
    node.run_add_steps(pod, "net1", &configuration(NETWORK), steps);
}

pub(super) fn assert_all_gone(node: &TestNode) {
    node.assert_clean();
    assert_eq!(reserved_ips(NETWORK), [""; 0]);
}

fn del_cleans_up_after_an_interrupted_add(node: &mut TestNode) {
    for port in port_types_of(node) {
        program(node, &port);
        for order in step_orders_of(node, &port) {
            for steps in 0..=order.len() {
                let pod = node.pod(&format!("p{steps}"));
                run_add_steps(node, &pod, &order[..steps]);
                node.del(&pod, "net1").assert_done();
                assert_all_gone(node);
            }
        }
    }
}

fn add_recovers_after_an_interrupted_add(node: &mut TestNode) {
    for port in port_types_of(node) {
        program(node, &port);
        for order in step_orders_of(node, &port) {
            // After the last step the interface is attached, and ADD is not interrupted.
            for steps in 0..order.len() {
                let pod = node.pod(&format!("p{steps}"));
                run_add_steps(node, &pod, &order[..steps]);
                node.add(&pod, "net1").result();
                let volumes = usize::from(uses_volume(&port));
                assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (1, volumes), "after {steps} steps");
                node.del(&pod, "net1").assert_done();
                assert_all_gone(node);
            }
        }
    }
}

fn del_resumes_after_an_interrupted_del(node: &mut TestNode) {
    for port in port_types_of(node) {
        program(node, &port);
        for steps in 0..=detach::Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            node.add(&pod, "net1").result();
            node.run_del_steps(&pod, "net1", &detach::Step::ALL[..steps]);
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

fn add_works_after_an_interrupted_del(node: &mut TestNode) {
    for port in port_types_of(node) {
        program(node, &port);
        for steps in 1..=detach::Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            node.add(&pod, "net1").result();
            node.run_del_steps(&pod, "net1", &detach::Step::ALL[..steps]);
            node.add(&pod, "net1").result();
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

fn an_incomplete_mount_is_cleaned_up(node: &mut TestNode) {
    program(node, &port_types_of(node)[0]);
    for finish in ["DEL", "ADD"] {
        let pod = node.pod(finish);
        run_add_steps(node, &pod, &attach::Step::ALL[..1]);
        // The call is killed after the mount on the staging folder, before its flags are set.
        let staging = node.paths.ports().join(format!(".{}.new", pod.uid));
        for folder in [&staging, &pod.directory] {
            fs::create_dir_all(folder).unwrap();
        }
        let nothing: Option<&str> = None;
        mount(Some(&pod.volume), &staging, nothing, MsFlags::MS_BIND, nothing).unwrap();
        if finish == "ADD" {
            node.add(&pod, "net1").result();
            let [(path, options)] = node.mounts().try_into().unwrap();
            assert!(path == pod.directory && options.contains("nosymfollow"), "{path:?} {options:?}");
        }
        node.del(&pod, "net1").assert_done();
        assert_all_gone(node);
    }
}

/// Kills the program itself, at times from before its first to after its last step, also in the
/// middle of a step.
fn a_call_that_is_killed_at_any_moment_is_cleaned_up(node: &mut TestNode) {
    for port in port_types_of(node) {
        program(node, &port);
        let whole = node.pod("whole");
        let [add, del] = [node.add(&whole, "net1"), node.del(&whole, "net1")].map(|output| output.took.mul_f64(1.2));
        for round in 0..KILLS {
            let pod = node.pod(&format!("p{round}"));
            node.kill("ADD", &pod, "net1", add * round / KILLS);
            if round % 2 == 0 {
                node.kill("DEL", &pod, "net1", del * round / KILLS);
            }
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

/// A timeout for the processes of a busy machine.
const AMPLE: Duration = Duration::from_secs(10);

/// A slow IPAM plugin: it continues when its caller is killed.
const SLOW: &str = r#"case $CNI_COMMAND in
ADD) touch /run/started; until [ -e /run/go ]; do sleep 0.01; done; touch /run/held
     echo '{"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.7/24"}]}'; touch /run/ended;;
DEL) rm -f /run/held;;
esac"#;

fn addresses_assigned_after_their_call_was_killed_are_released(node: &mut TestNode) {
    install("slow", SLOW);
    node.program_network(NETWORK, Some(json!({"type": "slow"})));
    let (pod, path) = (node.pod("p"), [("CNI_PATH", PLUGINS)]);

    let mut add = node.spawn("ADD", &pod, "net1", &path);
    await_that("the IPAM plugin starts", AMPLE, || Path::new("/run/started").exists());
    add.kill().unwrap();
    add.wait().unwrap();
    let mut del = node.spawn("DEL", &pod, "net1", &path);
    // DEL should wait for the lock. Waiting is the absence of an event, so that there is no
    // condition to await: with a defect DEL would end within a few milliseconds.
    let soon = Instant::now() + Duration::from_millis(300);
    await_that("some time has gone", AMPLE, || Instant::now() > soon || del.try_wait().unwrap().is_some());
    fs::write("/run/go", "").unwrap();
    assert!(del.wait().unwrap().success());
    await_that("the IPAM plugin ends", AMPLE, || Path::new("/run/ended").exists());
    assert!(!Path::new("/run/held").exists());
    node.assert_clean();
}
