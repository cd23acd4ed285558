//! usnet itself in the repository: its installation, an upgrade under running pods, its removal and
//! restoration, and its removal in the right order.

use super::argo::{Argo, Mode};
use super::figures::{Figures, is_long};
use super::flux::Flux;
use super::system::{System, leftovers};
use super::tool::Tool;
use crate::support::cluster::{check, eventually, get, kubectl};
use crate::support::pods::{sleeping_pod, wait_running};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::stream::Stream;
use serde_json::{Value, json};
use std::time::Instant;

const ALL: &str = "all";
const NETWORK: &str = "delivered";

/// Everything in one folder of the repository.
struct Everything {
    tool: Box<dyn Tool>,
    figures: Figures,
    usnet: Vec<Value>,
    network: Value,
    pods: Vec<Value>,
    scene: Scene,
}

impl Everything {
    fn objects(&self) -> Vec<Value> {
        [self.usnet.clone(), vec![self.network.clone()], self.pods.clone()].concat()
    }

    #[track_caller]
    fn succeeds(&mut self, what: &str, objects: &[Value]) {
        let applied = self.tool.commit(ALL, objects);
        self.figures.row(what, &applied, None);
        assert!(applied.is_ready, "{what}: {}", applied.message);
    }

    fn stream(&self) -> Stream {
        self.pods.iter().for_each(|pod| wait_running(&self.scene, pod["metadata"]["name"].as_str().unwrap()));
        let [from, to] = ["from", "to"].map(|pod| Station::of_pod(&self.scene, pod));
        Stream::start("OVS", &from, &to)
    }

    /// The first sync, from nothing, of one commit.
    fn is_installed(&mut self) -> Stream {
        let started = Instant::now();
        let objects = self.objects();
        self.succeeds("usnet, a network and two pods from nothing", &objects);
        let stream = self.stream();
        self.figures.seconds("from nothing to packets", started.elapsed());
        stream
    }

    fn is_upgraded(&mut self, stream: &Stream, system: &System) {
        let older = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "name"]);
        let crd = || get(&["crd", "userspacenetworks.usnet.dev"]).unwrap()["metadata"]["generation"].clone();
        let (older_crd, first) = (crd(), stream.begin());
        self.usnet = system.objects();
        let objects = self.objects();
        let applied = self.tool.commit(ALL, &objects);
        eventually("all of usnet's pods are new", || {
            let pods = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "name"]);
            check(!pods.is_empty() && !older.lines().any(|pod| pods.contains(pod)), pods)
        });
        self.tool.await_ready(ALL);
        let sample = stream.end(first);
        self.figures.row("an upgrade of usnet and its CRDs", &applied, Some(sample));
        assert!(applied.is_ready && sample.lost == Some(0), "{applied:?} {sample:?}");
        assert_ne!(crd(), older_crd, "the CRD is the new one");
    }

    /// Controllers go together with the networks that they would have to delete.
    fn is_removed_at_once_and_put_back(&mut self) {
        let started = Instant::now();
        self.tool.remove(ALL);
        eventually("the tool has deleted what it delivered", || check(self.tool.is_gone(ALL), "not yet"));
        eventually("nothing of usnet runs", || {
            let pods = kubectl(&["get", "pods", "-n", "usnet-system", "-o", "name", "--ignore-not-found"]);
            check(pods.is_empty(), pods)
        });
        self.figures.seconds("all of it removed at once", started.elapsed());
        self.figures.text("left then", &leftovers().join(", "));
        let started = Instant::now();
        self.tool.add(ALL, &[]);
        let objects = self.objects();
        self.tool.commit(ALL, &objects);
        self.tool.await_ready(ALL);
        drop(self.stream());
        self.figures.seconds("delivered again, to packets", started.elapsed());
    }

    /// Pods and networks in a commit before usnet.
    fn is_removed_in_order(&mut self) {
        let started = Instant::now();
        let usnet = self.usnet.clone();
        self.tool.commit(ALL, &usnet);
        eventually("the network is gone", || check(get(&["usn", NETWORK]).is_none(), "still there"));
        self.tool.await_ready(ALL);
        self.tool.remove(ALL);
        eventually("the tool has deleted what it delivered", || check(self.tool.is_gone(ALL), "not yet"));
        System::delete_crds();
        eventually("nothing is left", || check(leftovers().is_empty(), leftovers().join(", ")));
        self.figures.seconds("removed in order, with the CRDs by hand, to nothing", started.elapsed());
    }
}

fn usnet_itself_is_delivered(start: impl FnOnce() -> Option<Box<dyn Tool>>) {
    if !is_long("usnet itself in a repository") {
        return;
    }
    let system = System::remove();
    let Some(tool) = start() else { return };
    let scene = Scene::new(NETWORK);
    let network = scene.manifest(
        NETWORK,
        &json!({
            "port": {"type": "Veth"},
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.173.0.0/16"}]]},
        }),
    );
    let pods = ["from", "to"].map(|pod| sleeping_pod(&scene, pod, NETWORK)).into();
    let figures = Figures::new(tool.name());
    let mut everything = Everything { tool, figures, usnet: system.older_objects(), network, pods, scene };
    everything.tool.add(ALL, &[]);
    let stream = everything.is_installed();
    everything.tool.reconcile(ALL);
    everything.figures.idle(NETWORK, 1);
    everything.is_upgraded(&stream, &system);
    drop(stream);
    everything.is_removed_at_once_and_put_back();
    everything.is_removed_in_order();
}

#[test]
fn flux_delivers_usnet_itself() {
    usnet_itself_is_delivered(|| Some(Box::new(Flux::start())));
}

#[test]
fn argo_cd_delivers_usnet_itself() {
    usnet_itself_is_delivered(|| Some(Box::new(Argo::start(Mode::ServerSide)?)));
}
