//! A state or run directory that is full or read-only: nothing counts as programmed as long as pods
//! cannot attach.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use usnet_crds::conditions::reason::{AGENT_READY, ALL_PROGRAMMED, STATE_NOT_WRITABLE};
use usnet_crds::conditions::{NETWORKS_PROGRAMMED, READY};
use usnet_dataplane::node_file::NodeFile;

const NONE: Option<&str> = None;
const METRIC: &str = "usnet_agent_state_directory_writable";

/// Runs a test on a thread with a mount namespace of its own.
fn with_own_mounts(test: impl FnOnce() + Send + 'static) {
    let test = thread::spawn(|| {
        unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).expect("a mount namespace; are you root?");
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).unwrap();
        test();
    });
    if let Err(panic) = test.join() {
        resume_unwind(panic);
    }
}

/// A file system of 64 KiB.
fn mount_small(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::empty(), Some("size=64k")).unwrap();
}

fn set_read_only(folder: &Path, is_read_only: bool) {
    let flags = if is_read_only { MsFlags::MS_RDONLY } else { MsFlags::empty() };
    mount(NONE, folder, NONE, flags | MsFlags::MS_REMOUNT, NONE).unwrap();
}

#[track_caller]
fn assert_in_status(agent: &RunningAgent, why: &str) {
    let ready = agent.wait_for_condition(READY, STATE_NOT_WRITABLE);
    assert!(ready.message.contains(why), "{}", ready.message);
    let entry = agent.wait_for_network("blue", "fails", |entry| entry.reason == STATE_NOT_WRITABLE);
    assert!(entry.message.contains(why), "{}", entry.message);
    assert_eq!(agent.node_metric(METRIC), 0.0);
}

#[track_caller]
fn assert_reported(testbed: &OvsTestbed, agent: &RunningAgent, why: &str) {
    assert_in_status(agent, why);
    assert_eq!(testbed.wait_until_unavailable("blue"), STATE_NOT_WRITABLE);
}

#[track_caller]
fn assert_recovered(testbed: &OvsTestbed, agent: &RunningAgent) {
    testbed.wait_until_programmed("blue");
    agent.wait_for_condition(READY, AGENT_READY);
    agent.wait_for_condition(NETWORKS_PROGRAMMED, ALL_PROGRAMMED);
    assert_eq!(agent.node_metric(METRIC), 1.0);
}

#[test]
fn a_full_or_read_only_state_directory_is_reported_until_it_can_be_written_again() {
    with_own_mounts(|| {
        let testbed = OvsTestbed::start();
        let state = testbed.paths.state.clone();
        mount_small(&state);
        let agent = RunningAgent::start(&testbed.paths);
        agent.set_spec(1, &[network("blue")]);
        assert_recovered(&testbed, &agent);

        let ballast = state.join(".ballast");
        fs::write(&ballast, vec![0; 128 << 10]).unwrap_err();
        assert_reported(&testbed, &agent, "No space left");
        // The spec cannot be saved now.
        agent.set_spec(2, &[network("blue"), network("green")]);
        agent.wait_for_network("green", "fails as well", |entry| entry.reason == STATE_NOT_WRITABLE);
        fs::remove_file(&ballast).unwrap();
        assert_recovered(&testbed, &agent);
        until("the spec is saved", || {
            let saved = NodeFile::read(&testbed.paths).unwrap().unwrap_or_default();
            (saved.networks.len() == 2).then_some(())
        });

        set_read_only(&state, true);
        assert_reported(&testbed, &agent, "Read-only file system");
        set_read_only(&state, false);
        assert_recovered(&testbed, &agent);
    });
}

#[test]
fn a_full_or_read_only_run_directory_is_reported_until_it_can_be_written_again() {
    with_own_mounts(|| {
        let testbed = OvsTestbed::start();
        let run = testbed.paths.run.clone();
        mount_small(&run);
        let agent = RunningAgent::start(&testbed.paths);
        agent.set_spec(1, &[network("blue")]);
        assert_recovered(&testbed, &agent);

        let ballast = run.join(".ballast");
        fs::write(&ballast, vec![0; 128 << 10]).unwrap_err();
        assert_in_status(&agent, "No space left");
        fs::remove_file(&ballast).unwrap();
        assert_recovered(&testbed, &agent);

        // The network files cannot be changed now; ADD fails by itself.
        set_read_only(&run, true);
        assert_in_status(&agent, "Read-only file system");
        set_read_only(&run, false);
        assert_recovered(&testbed, &agent);
    });
}
