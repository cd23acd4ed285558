//! Prometheus with what `config/components/prometheus` deploys, in a cluster whose parts are broken
//! one after the other: each alert fires, and each panel of the dashboard has data.
//!
//! - [`component`]: applies it; [`translation`]: the Prometheus Operator's part, which the test bed
//!   does not have;
//! - [`prometheus`]: the program of Debian;
//! - [`watch`]: which alerts were seen, and when; [`dashboard`]: its queries.

mod component;
mod dashboard;
mod prometheus;
mod translation;
mod watch;

use crate::support::cluster::{apply, check, eventually, get, nodes, run, try_run, vsctl};
use crate::support::control_plane::controllers::{
    Controller, NAMESPACE, StoppedProcesses, agent_process, await_both, curl_status, process, reader_token,
};
use crate::support::control_plane::simulated_nodes::SimulatedNodes;
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::uplinks::{Uplink, nowhere};
use component::Component;
use prometheus::Prometheus;
use serde_json::{Value, json};
use std::fs;
use translation::{rules, scrape_configs, targets};
use watch::{Fault, Watch};

/// The node whose parts are broken.
const BROKEN: &str = "node-b";
const ENGINES: [&str; 2] = ["ovs-vswitchd", "vpp"];
/// Alerts that no fault here causes, each with the reason.
const NOT_CAUSED: [(&str, &str); 7] = [
    ("UsnetQueueStuck", "the API server would have to be slow for 15 minutes"),
    ("UsnetWritesFail", "the API server would have to refuse writes for 25 minutes"),
    ("UsnetStateNotWritable", "a disk needs a mount of its own and another agent: faults::disk sees the condition"),
    ("UsnetForeignChanges", "its hour is a minute here, within which an agent repairs a bridge too rarely"),
    ("UsnetOperationsFail", "an engine would have to refuse operations and stay connected"),
    ("UsnetGarbageStays", "an IPAM plugin would have to fail for pods that are gone"),
    ("UsnetDevicesNotRegistered", "kubelet would have to refuse a device plugin"),
];

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

/// What breaks while other parts are broken: a network, an uplink and pods.
fn break_objects(scene: &Scene) -> Uplink {
    scene.network("monitored", &json!({}));
    vsctl(BROKEN, &["--no-wait", "--may-exist", "add-br", "br-monitored-2"]);
    scene.apply_network("monitored-2", &json!({}));
    // Its program never uses the socket; the other one has no volume.
    start(scene, &sleeping_pod(scene, "idle", "monitored"));
    let mut broken = sleeping_pod(scene, "broken", "monitored");
    broken["spec"]["volumes"] = json!([]);
    broken["spec"]["containers"][0]["volumeMounts"] = json!([]);
    apply(&broken);
    let mut uplink = nowhere("monitored", &["7"]);
    uplink["spec"]["nics"][0]["nodeSelector"] = json!({"matchLabels": {"kubernetes.io/hostname": BROKEN}});
    Uplink::apply(&uplink)
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

fn engines_and_an_agent_end(watch: &mut Watch<'_>) {
    let ended = Fault::begin("Open vSwitch and VPP of a node ended");
    let engines = StoppedEngines::stop();
    watch.await_firing(&ended, "UsnetEngineDisconnected", &[("node", BROKEN), ("engine", "OVS")]);
    watch.await_firing(&ended, "UsnetEngineDisconnected", &[("node", BROKEN), ("engine", "VPP")]);
    // Of the other node: the agent of this one says of its engines that they have ended.
    let stopped = Fault::begin("an agent stopped, and a node without an agent joined");
    let agent = StoppedProcesses::stop(vec![agent_process(NODE)]);
    let nodes = SimulatedNodes::create("monitored", 1);
    watch.await_firing(&ended, "UsnetNetworkFailedOnNode", &[("node", BROKEN), ("network", "monitored")]);
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

fn vpp_restarts(watch: &mut Watch<'_>, prometheus: &Prometheus) {
    let fault = Fault::begin("VPP of a node ended twice more");
    (0..2).for_each(|_| restart_vpp(prometheus));
    watch.await_firing(&fault, "UsnetEngineRestarts", &[("node", BROKEN), ("engine", "VPP")]);
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
    let fault = Fault::begin("a network, an uplink and two pods were wrong");
    let uplink = break_objects(&scene);
    watch.await_firing(&fault, "UsnetUplinksFailedOnNode", &[("node", BROKEN), ("engine", "OVS")]);
    watch.await_pending(&fault, "UsnetNetworkStalled", &[("network", "monitored-2")]);
    watch.await_pending(&fault, "UsnetUplinksStalled", &[]);
    engines_and_an_agent_end(&mut watch);
    vpp_restarts(&mut watch, &prometheus);
    watch.await_firing(&fault, "UsnetNetworkStalled", &[("network", "monitored-2")]);
    watch.await_firing(&fault, "UsnetUplinksStalled", &[]);
    controllers_stop(&mut watch);
    watch.await_pending(&fault, "UsnetCallsFail", &[("node", NODE), ("code", "102")]);
    watch.await_pending(&fault, "UsnetAttachmentsNotConnected", &[("node", NODE), ("engine", "OVS")]);

    watch.assert_complete(&NOT_CAUSED);
    let dashboard = component.object("ConfigMap/usnet-dashboard")["data"]["usnet.json"].as_str().unwrap();
    dashboard::assert_panels_have_data(&serde_json::from_str(dashboard).unwrap(), &prometheus);
    drop(prometheus);
    vsctl(BROKEN, &["--no-wait", "del-br", "br-monitored-2"]);
    drop((uplink, scene, component));
}
