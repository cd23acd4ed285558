//! Prometheus with what `config/components/prometheus` deploys, in a cluster whose parts are broken
//! one after the other: each alert fires, and each panel of the dashboard has data.
//!
//! - [`of_node`], [`of_cluster`], [`sender`]: what is broken;
//! - [`component`]: applies it; [`translation`]: the Prometheus Operator's part, which the test bed
//!   does not have;
//! - [`prometheus`]: the program of Debian;
//! - [`watch`]: which alerts were seen, and when; [`dashboard`]: its queries.

mod component;
mod dashboard;
mod of_cluster;
mod of_node;
mod prometheus;
mod sender;
mod translation;
mod watch;

use crate::support::cluster::{apply, check, eventually, get, nodes, run, try_run, vsctl};
use crate::support::control_plane::controllers::{
    Controller, NAMESPACE, StoppedProcesses, agent_process, await_both, curl_status, process, reader_token,
};
use crate::support::pods::{NODE, sleeping_pod, start, testpmd_pod};
use crate::support::scene::{Scene, wait_ready};
use crate::support::uplinks::{Uplink, nowhere};
use crate::support::vpp::moves_packets;
use component::Component;
use of_cluster::{ChangedNode, NodeWithoutAgent, SilentWebhook};
use of_node::{Garbage, Hidden, OtherProgram, ReadOnlyState, TakenPort};
use prometheus::Prometheus;
use sender::{Sender, network_of};
use serde_json::{Value, json};
use std::fs;
use translation::{rules, scrape_configs, targets};
use usnet_crds::EngineKind;
use watch::{Fault, Watch};

/// The node whose parts are broken.
const BROKEN: &str = "node-b";
const ENGINES: [&str; 2] = ["ovs-vswitchd", "vpp"];
/// An uplink whose NIC does not exist.
const UPLINK: &str = "monitored";
/// A bridge that has the name of a network's and is not usnet's.
const FOREIGN: &str = "br-monitored-2";

fn start_prometheus(component: &Component, rule: &Value) -> Prometheus {
    let [token, file] = ["token", "targets.json"].map(|name| component.folder.join(name).display().to_string());
    fs::write(&token, reader_token()).unwrap();
    let found: Vec<Value> =
        component.of_kind("Service").flat_map(|service| targets(service, &endpoints(service))).collect();
    fs::write(&file, Value::from(found).to_string()).unwrap();
    let monitors = component.of_kind("ServiceMonitor");
    let scraped: Vec<Value> = monitors.flat_map(|monitor| scrape_configs(monitor, &token, &file)).collect();
    Prometheus::start(&component.folder, &scraped, &rules(rule))
}

/// The Endpoints of a Service, once they have all its pods.
fn endpoints(service: &Value) -> Value {
    let name = service["metadata"]["name"].as_str().unwrap();
    let part = service["spec"]["selector"]["app.kubernetes.io/component"].as_str().unwrap();
    let selector = format!("app.kubernetes.io/component={part}");
    eventually("the endpoints", || {
        let endpoints = get(&["endpoints", name, "-n", NAMESPACE]).ok_or("none")?;
        let pods = get(&["pods", "-n", NAMESPACE, "-l", &selector]).ok_or("no pods")?;
        let names = |list: &Value| {
            let items = list["items"].as_array().into_iter().flatten();
            items.map(|pod| pod["metadata"]["name"].to_string()).collect::<Vec<_>>()
        };
        let text = endpoints.to_string();
        check(names(&pods).iter().all(|pod| text.contains(pod)), text)?;
        Ok(endpoints)
    })
}

/// Every pod reaches the address of the node.
fn agents_are_protected(node: &str) {
    let state = get(&["node", node]).unwrap();
    let addresses = state["status"]["addresses"].as_array().unwrap();
    let address =
        addresses.iter().find(|address| address["type"] == "InternalIP").unwrap()["address"].as_str().unwrap();
    let https = format!("https://{address}:28181/metrics");
    assert_eq!(curl_status(node, &https, None), "401");
    eventually("who has the right reads metrics", || {
        let status = curl_status(node, &https, Some(reader_token()));
        check(status == "200", status)
    });
    assert_eq!(curl_status(node, &https.replace("https", "http"), Some(reader_token())), "000", "without TLS");
    assert_eq!(curl_status(node, "https://127.0.0.1:28181/metrics", None), "000", "at two addresses");
}

/// Networks, an uplink and pods that are wrong, until this is dropped.
struct WrongObjects {
    taken: TakenPort,
    uplink: Uplink,
}

impl WrongObjects {
    fn create(scene: &Scene) -> Self {
        scene.network("monitored", &json!({}));
        vsctl(BROKEN, &["--no-wait", "--may-exist", "add-br", FOREIGN]);
        scene.apply_network("monitored-2", &json!({}));
        let mut uplink = nowhere(UPLINK, &["7"]);
        uplink["spec"]["nics"][0]["nodeSelector"] = json!({"matchLabels": {"kubernetes.io/hostname": BROKEN}});
        let uplink = Uplink::apply(&uplink);
        start(scene, &sleeping_pod(scene, "taken", "monitored"));
        let taken = TakenPort::take(&vsctl(NODE, &["list-ports", "br-monitored"]));
        // Its program never uses the socket; the other one has no volume.
        use_up_memory(scene);
        let [idle, mut broken] = ["idle", "broken"].map(|name| sleeping_pod(scene, name, "monitored"));
        broken["spec"]["volumes"] = json!([]);
        broken["spec"]["containers"][0]["volumeMounts"] = json!([]);
        [idle, broken].iter().for_each(apply);
        Self { taken, uplink }
    }

    fn delete(self, scene: Scene) {
        vsctl(BROKEN, &["--no-wait", "del-br", FOREIGN]);
        drop((self.taken, scene, self.uplink));
    }
}

/// Applies a pod with more ports of large packets than Open vSwitch has memory for: each size needs
/// buffers of its own.
fn use_up_memory(scene: &Scene) {
    let networks = [9000, 8000, 7000].map(|mtu| {
        let name = format!("monitored-{mtu}");
        scene.apply_network(&name, &json!({"bridge": {"mtu": mtu}}));
        name
    });
    networks.iter().for_each(|name| wait_ready(name));
    apply(&testpmd_pod(scene, "large", &networks.join(","), "rxonly"));
}

/// What lasts on nodes while other parts are broken.
struct WrongNodes {
    kubelet: Hidden,
    garbage: Garbage,
    program: OtherProgram,
}

impl WrongNodes {
    fn begin(scene: &Scene) -> Self {
        let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.98.0/24"}]]});
        scene.network("monitored-3", &json!({"ipam": ipam, "devicePlugin": {"devices": 1}}));
        let kubelet = Hidden::hide("/var/lib/kubelet/device-plugins/kubelet.sock");
        let garbage = Garbage::leave(&scene.name, "monitored-3");
        Self { kubelet, garbage, program: OtherProgram::start("br-monitored-3") }
    }
}

/// Engines of the node that were stopped, which run again when this is dropped.
struct StoppedEngines;

impl StoppedEngines {
    fn stop() -> Self {
        let stopped = Self;
        for engine in ENGINES {
            run("component", &["stop", engine, BROKEN]);
        }
        stopped
    }
}

impl Drop for StoppedEngines {
    fn drop(&mut self) {
        for engine in ENGINES {
            if let Err(error) = try_run("component", &["start", engine, BROKEN], "") {
                eprintln!("{error}");
            }
        }
    }
}

/// Restarts VPP, and waits until the agent has counted that.
fn restart_vpp(prometheus: &Prometheus) {
    let epoch = format!("max(usnet_agent_engine_epoch{{node=\"{BROKEN}\",engine=\"VPP\"}})");
    let before = eventually("the epoch", || prometheus.value(&epoch));
    run("component", &["stop", "vpp", BROKEN]);
    run("component", &["start", "vpp", BROKEN]);
    eventually("the agent has seen the restart", || {
        let now = prometheus.value(&epoch)?;
        check(now > before, format!("{now}"))
    });
}

/// Waits for alerts of what is wrong on nodes, whose agents run.
fn objects_are_wrong(watch: &mut Watch<'_>, objects: &Fault, nodes: &Fault) {
    watch.await_firing(objects, "UsnetUplinksFailedOnNode", &[("node", BROKEN), ("engine", "OVS")]);
    watch.await_firing(objects, "UsnetNetworkFailedOnNode", &[("network", "monitored-2")]);
    watch.await_pending(objects, "UsnetNetworkStalled", &[("network", "monitored-2")]);
    watch.await_pending(objects, "UsnetUplinksStalled", &[]);
    watch.await_pending(objects, "UsnetOperationsFail", &[("node", NODE), ("kind", "CreatePort")]);
    watch.await_firing(objects, "UsnetAttachmentsFailed", &[("node", NODE), ("reason", "PortFailed")]);
    watch.await_firing(objects, "UsnetPortsWithoutMemory", &[("node", NODE), ("engine", "OVS")]);
    watch.await_pending(nodes, "UsnetForeignChanges", &[("node", NODE)]);
    watch.await_pending(nodes, "UsnetDevicesNotRegistered", &[("node", BROKEN)]);
}

fn a_pod_sends_too_much(watch: &mut Watch<'_>, scene: &Scene) {
    let fault = Fault::begin("a pod sent what is not its own, and began connections");
    let sender = Sender::start(scene, EngineKind::OpenVswitch);
    let network = network_of(EngineKind::OpenVswitch);
    watch.await_firing(&fault, "UsnetFramesForged", &[("node", NODE), ("network", network)]);
    watch.await_firing(&fault, "UsnetPolicyConnectionsFull", &[("node", NODE), ("network", network)]);
    drop(sender);
    let alert = "UsnetPolicySessionsFull";
    if !moves_packets(alert) {
        return watch.leave_out(alert);
    }
    let fault = Fault::begin("a pod began connections by VPP");
    let sender = Sender::start(scene, EngineKind::Vpp);
    watch.await_firing(&fault, alert, &[("node", NODE)]);
    drop(sender);
}

fn engines_and_an_agent_end(watch: &mut Watch<'_>) {
    let ended = Fault::begin("Open vSwitch and VPP of a node ended");
    let engines = StoppedEngines::stop();
    let stopped = Fault::begin("an agent stopped on a node that changed, and a node without an agent joined");
    let agent = StoppedProcesses::stop(vec![agent_process(NODE)]);
    let nodes = (ChangedNode::label(NODE), NodeWithoutAgent::join());
    watch.await_firing(&ended, "UsnetEngineDisconnected", &[("node", BROKEN), ("engine", "OVS")]);
    watch.await_firing(&ended, "UsnetEngineDisconnected", &[("node", BROKEN), ("engine", "VPP")]);
    watch.await_firing(&stopped, "UsnetAgentMetricsMissing", &[("node", NODE)]);
    watch.await_firing(&stopped, "UsnetAgentsMissing", &[]);
    watch.await_firing(&ended, "UsnetNetworkNotReady", &[("network", "monitored")]);
    watch.await_firing(&stopped, "UsnetNodesBehind", &[]);
    drop((engines, agent, nodes));
    watch.await_end("UsnetEngineDisconnected", &[]);
    watch.await_end("UsnetAgentMetricsMissing", &[]);
    watch.await_end("UsnetAgentsMissing", &[]);
    watch.await_end("UsnetNetworkNotReady", &[("network", "monitored")]);
}

fn state_is_read_only(watch: &mut Watch<'_>) {
    let fault = Fault::begin("the state folder was read-only");
    let state = ReadOnlyState::begin();
    watch.await_firing(&fault, "UsnetStateNotWritable", &[("node", BROKEN)]);
    drop(state);
    watch.await_end("UsnetStateNotWritable", &[]);
}

fn vpp_restarts(watch: &mut Watch<'_>, prometheus: &Prometheus) {
    let fault = Fault::begin("VPP of a node ended twice more");
    (0..2).for_each(|_| restart_vpp(prometheus));
    watch.await_firing(&fault, "UsnetEngineRestarts", &[("node", BROKEN), ("engine", "VPP")]);
}

fn a_webhook_is_silent(watch: &mut Watch<'_>) {
    let fault = Fault::begin("an admission webhook did not answer");
    let webhook = SilentWebhook::create();
    watch.await_firing(&fault, "UsnetQueueStuck", &[]);
    watch.await_firing(&fault, "UsnetWritesFail", &[("reason", "Timeout")]);
    drop(webhook);
}

fn controllers_stop(watch: &mut Watch<'_>) {
    await_both();
    let fault = Fault::begin("all controllers stopped");
    let pods = Controller::all().into_iter().map(|controller| process(&controller.pod));
    let stopped = StoppedProcesses::stop(pods.collect());
    watch.await_firing(&fault, "UsnetNoLeader", &[]);
    watch.await_firing(&fault, "UsnetControllerMetricsMissing", &[]);
    drop(stopped);
    watch.await_end("UsnetNoLeader", &[]);
    await_both();
}

#[test]
fn each_alert_fires_and_each_panel_has_data_in_a_prometheus_that_scrapes_as_the_component_says() {
    if try_run("prometheus", &["--version"], "").is_err() {
        println!("left out: there is no prometheus here; e2e/scripts/setup gets it");
        return;
    }
    let component = Component::apply();
    agents_are_protected(BROKEN);
    let rule = component.object("PrometheusRule/usnet");
    let prometheus = start_prometheus(&component, rule);
    let mut watch = Watch::new(&prometheus, rule);
    let scraped = format!("count(up{{namespace=\"{NAMESPACE}\"}} == 1) == {}", 2 + nodes().len());
    eventually("two controllers and all agents are scraped", || prometheus.value(&scraped).map(drop));
    watch.await_silence();

    let scene = Scene::new("monitored");
    let nodes_fault = Fault::begin("kubelet's socket and an IPAM plugin were gone, and a program changed a bridge");
    let nodes = WrongNodes::begin(&scene);
    let fault = Fault::begin("networks, an uplink and pods were wrong");
    let objects = WrongObjects::create(&scene);
    a_pod_sends_too_much(&mut watch, &scene);
    objects_are_wrong(&mut watch, &fault, &nodes_fault);
    // It polls.
    scene.delete_pod("large");
    engines_and_an_agent_end(&mut watch);
    // The first restart of VPP counts for an hour, which is a minute here.
    vpp_restarts(&mut watch, &prometheus);
    state_is_read_only(&mut watch);
    watch.await_firing(&nodes_fault, "UsnetDevicesNotRegistered", &[("node", BROKEN)]);
    drop(nodes.kubelet);
    a_webhook_is_silent(&mut watch);
    watch.await_firing(&fault, "UsnetNetworkStalled", &[("network", "monitored-2")]);
    watch.await_firing(&fault, "UsnetUplinksStalled", &[]);
    watch.await_firing(&nodes_fault, "UsnetGarbageStays", &[("node", BROKEN), ("kind", "Attachment")]);
    watch.await_firing(&nodes_fault, "UsnetForeignChanges", &[("node", NODE), ("engine", "OVS")]);
    nodes.garbage.collect();
    drop(nodes.program);
    controllers_stop(&mut watch);
    watch.await_pending(&fault, "UsnetCallsFail", &[("node", NODE), ("code", "102")]);
    watch.await_pending(&fault, "UsnetAttachmentsNotConnected", &[("node", NODE), ("engine", "OVS")]);

    watch.assert_complete();
    let dashboard = component.object("ConfigMap/usnet-dashboard")["data"]["usnet.json"].as_str().unwrap();
    dashboard::assert_panels_have_data(&serde_json::from_str(dashboard).unwrap(), &prometheus);
    drop(prometheus);
    objects.delete(scene);
    drop(component);
}
