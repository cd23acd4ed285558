//! Controllers that survive an outage of the API server which is longer than the lease.

use crate::support::cluster::{NODES, check, eventually, kubectl, run, try_run, vsctl};
use crate::support::control_plane::controllers::{Controller, await_both, lease};
use crate::support::scene::{Scene, wait_ready};
use serde_json::json;
use std::time::{Duration, Instant};

/// All that the controller watches: where the API server has it, and the controller's word for it.
pub(crate) const WATCHED: [(&str, &str); 9] = [
    ("apis/usnet.dev/v1alpha1/userspacenetworks", "Networks"),
    ("apis/usnet.dev/v1alpha1/compilednetworks", "Compiled"),
    ("apis/usnet.dev/v1alpha1/userspacenodestates", "NodeStates"),
    ("apis/usnet.dev/v1alpha1/userspacenodeslices", "NodeSlices"),
    ("apis/usnet.dev/v1alpha1/userspaceuplinks", "Uplinks"),
    ("apis/usnet.dev/v1alpha1/userspacereservations", "Reservations"),
    ("apis/k8s.cni.cncf.io/v1/network-attachment-definitions", "Nads"),
    ("api/v1/namespaces", "Namespaces"),
    ("api/v1/nodes", "Nodes"),
];

/// No API server, until this ends; if a test fails too.
pub(crate) struct Outage;

impl Outage {
    pub(crate) fn begin() -> Self {
        run("component", &["stop", "kube-apiserver"]);
        Self
    }

    pub(crate) fn end(self) {
        drop(self);
        kubectl(&["get", "--raw=/readyz"]);
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        if let Err(error) = try_run("component", &["start", "kube-apiserver"], "") {
            eprintln!("{error}");
        }
    }
}

#[test]
fn controllers_survive_an_outage_of_the_api_server_longer_than_the_lease() {
    let scene = Scene::new("away");
    await_both();
    scene.network("away", &json!({}));
    let controllers = Controller::all();
    let duration = Duration::from_secs(lease()["leaseDurationSeconds"].as_u64().unwrap());

    // What the API server allows now counts for a minute, without it too.
    await_leaders(&controllers, 1);
    let outage = Outage::begin();
    let since = Instant::now();
    await_leaders(&controllers, 0);
    // It is no longer renewed, so that it now expires for every candidate.
    eventually("the lease has run out", || check(since.elapsed() > duration, format!("{:?}", since.elapsed())));
    outage.end();

    // Every watch works again, the standby's too: it may lead next.
    for controller in &controllers {
        for (_, kind) in WATCHED {
            eventually(&format!("{} watches {kind} again", controller.pod), || {
                let log = controller.log();
                let last =
                    log.lines().rfind(|line| line.contains("watch") && line.contains(&format!("objects={kind}")));
                check(last.is_some_and(|line| line.contains("watching again")), log.clone())
            });
        }
    }
    scene.apply_network("away", &json!({"bridge": {"mtu": 1400}}));
    wait_ready("away");
    for node in NODES {
        assert_eq!(vsctl(node, &["get", "Interface", "br-away", "mtu_request"]), "1400", "{node}");
    }
    scene.network("away-2", &json!({}));
    let leaders = await_leaders(&controllers, 1);
    assert_eq!(lease()["holderIdentity"], leaders[0]);
    assert_eq!(Controller::all(), controllers, "a controller was restarted");
}

/// Waits until that many of the controllers say that they lead, and gives their pods.
fn await_leaders(controllers: &[Controller], count: usize) -> Vec<String> {
    eventually(&format!("{count} of the controllers lead"), || {
        let mut leaders = Vec::new();
        for controller in controllers {
            leaders.extend(controller.is_leader()?.then(|| controller.pod.clone()));
        }
        check(leaders.len() == count, format!("{leaders:?}"))?;
        Ok(leaders)
    })
}
