//! One tenant writes NetworkAttachmentDefinitions that cost as much as they can. Networks of others
//! become Ready meanwhile, and the controller stays small.

use crate::support::cluster::{check, eventually, eventually_within, get, kubectl, on_node};
use crate::support::control_plane::controllers::{Controller, NAMESPACE, await_both, leader, process, signal};
use crate::support::scene::{Scene, wait_ready};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use usnet_crds::nad::{NetworkAttachmentDefinition, NetworkAttachmentDefinitionSpec};

/// Requests of the tenant at the same time.
const IN_FLIGHT: usize = 24;
/// How long another network may take until it is Ready. About 2 s is meant.
///
/// A busy machine may need longer, and half the time of the requests is still accepted: networks
/// that wait behind the tenant's definitions need all of it.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Networks of others that become Ready at least meanwhile, one after the other.
const ROUNDS: usize = 3;
/// Most networks that definitions of one namespace make.
const NETWORKS_MAX: usize = 32;
/// The time limit for the deletion of a namespace with thousands of objects.
const LONG: Duration = Duration::from_secs(240);

/// A tenant with a namespace of its own, in which nothing is left when the test ends.
struct Tenant {
    scene: Scene,
    /// The prefix of the requested bridges.
    bridges: &'static str,
}

impl Tenant {
    fn new(name: &str, bridges: &'static str) -> Self {
        Self { scene: Scene::new(name), bridges }
    }

    /// The configuration number `number` of the legacy userspace CNI, for a bridge of its own.
    fn config(&self, number: usize, bridge: &Value) -> Value {
        let mut bridge = bridge.clone();
        bridge["bridgeName"] = format!("{}{number}", self.bridges).into();
        let host = json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": bridge});
        json!({"cniVersion": "1.0.0", "type": "userspace", "name": "abuse", "host": host})
    }

    /// Creates a definition for each configuration, as fast as the API server takes them.
    fn create(&self, configs: impl Iterator<Item = Value>) {
        let definitions = configs.enumerate().map(|(number, config)| {
            let spec = NetworkAttachmentDefinitionSpec { config: config.to_string() };
            NetworkAttachmentDefinition::new(&format!("abuse-{number}"), spec)
        });
        let create = async {
            let api = Api::namespaced(Client::try_default().await?, &self.scene.name);
            let (api, parameters) = (&api, PostParams::default());
            let requests = stream::iter(definitions).map(|definition| {
                let parameters = parameters.clone();
                async move { api.create(&parameters, &definition).await.map(drop) }
            });
            requests.buffer_unordered(IN_FLIGHT).try_collect::<()>().await
        };
        Builder::new_current_thread().enable_all().build().unwrap().block_on(create).unwrap();
    }

    /// The networks that were made of its definitions.
    fn networks(&self) -> Vec<String> {
        let start = format!("ovs-{}", self.bridges);
        let all = kubectl(&["get", "usn", "-l", "usnet.dev/from-nad", "-o", "name"]);
        let names = all.lines().filter_map(|line| line.split_once('/').map(|(_, name)| name.to_owned()));
        names.filter(|name| name.starts_with(&start)).collect()
    }

    /// Waits for an event at any of its definitions.
    fn await_event(&self, reason: &str, words: &str) {
        let of = format!("involvedObject.kind=NetworkAttachmentDefinition,reason={reason}");
        eventually(&format!("an event {reason}"), || {
            let arguments = ["get", "events", "-n", &self.scene.name, "--field-selector", &of];
            let events = kubectl(&[&arguments[..], &["-o", "jsonpath={.items[*].message}"]].concat());
            check(events.contains(words), events)
        });
    }

    /// Waits until its namespace and its networks are gone.
    fn leave(self) {
        kubectl(&["delete", "namespace", &self.scene.name, "--timeout=240s"]);
        eventually_within(LONG, "its networks are gone", || {
            let left = self.networks();
            check(left.is_empty(), format!("{left:?}"))
        });
    }
}

/// While `abuse` goes on, and after it, networks of other users become Ready, one after the other.
fn others_are_served(name: &str, abuse: impl FnOnce() + Send) {
    let other = Scene::new(&format!("{name}-other"));
    let mut times = Vec::new();
    let requests = thread::scope(|scope| {
        let begun = Instant::now();
        let abuse = scope.spawn(move || {
            abuse();
            begun.elapsed()
        });
        while times.len() < ROUNDS || !abuse.is_finished() {
            times.push(time_to_ready(&other, &format!("{name}-{}", times.len())));
        }
        abuse.join().unwrap()
    });
    // What was written last may still have to be read.
    times.push(time_to_ready(&other, &format!("{name}-{}", times.len())));
    println!("{name}: {} other networks were Ready after {times:.1?}, requests took {requests:.1?}", times.len());
    let limit = READY_WITHIN.max(requests / 2);
    assert!(times.iter().all(|time| *time <= limit), "{times:?}, not {limit:?}");
}

fn time_to_ready(other: &Scene, network: &str) -> Duration {
    let begun = Instant::now();
    other.network(network, &json!({}));
    begun.elapsed()
}

/// No controller has ever had more memory than its limit allows, and none was killed for it.
fn assert_small(name: &str) {
    let deployment = get(&["deployment", "usnet-controller", "-n", NAMESPACE]).unwrap();
    let limit = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"].clone();
    let limit: u64 = limit.as_str().and_then(|text| text.strip_suffix("Mi")).expect("a limit in Mi").parse().unwrap();
    for Controller { pod, .. } in Controller::all() {
        let status = on_node("node-a", &["cat", &format!("/proc/{}/status", process(&pod))]);
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        println!("{name}: {pod} had at most {} MiB of {limit}", peak / 1024);
        assert!(peak < limit * 1024, "{pod} had {peak} kB");
        let status = get(&["pod", &pod, "-n", NAMESPACE]).unwrap()["status"]["containerStatuses"][0].take();
        assert_ne!(status["lastState"]["terminated"]["reason"], "OOMKilled", "{status}");
    }
}

#[test]
fn thirty_definitions_of_a_megabyte_delay_nothing_else() {
    const MEGABYTE: usize = 1_000_000;
    await_both();
    let tenant = Tenant::new("abuse-large", "large");
    let padding = "x".repeat(MEGABYTE);
    others_are_served("large", || {
        tenant.create((0..30).map(|number| {
            let mut config = tenant.config(number, &json!({}));
            config["padding"] = padding.as_str().into();
            config
        }));
    });
    tenant.await_event("InvalidConfiguration", "spec.config");
    assert_eq!(tenant.networks(), Vec::<String>::new());
    assert_small("large");

    // The next leader reads them all at once.
    signal("-KILL", &process(&leader()));
    let after = Scene::new("large-after");
    after.network("large-after", &json!({}));
    await_both();
    assert_small("large, read at the start");
    tenant.leave();
}

#[test]
#[ignore = "long: make nightly"]
fn eighty_definitions_with_thousands_of_vlans_delay_nothing_else() {
    await_both();
    let tenant = Tenant::new("abuse-vlans", "vlans");
    // All of them, and every other one, which is more ranges than any port needs.
    let all: Vec<u16> = (1..=4094).collect();
    let spread: Vec<u16> = (1..=4094).step_by(2).collect();
    others_are_served("vlans", || {
        tenant.create((0..80).map(|number| {
            let trunks = if number % 2 == 0 { &spread } else { &all };
            tenant.config(number, &json!({"trunks": trunks, "vlanMode": "trunk"}))
        }));
    });
    tenant.await_event("InvalidConfiguration", "host.bridge.trunks");
    let networks = tenant.networks();
    assert!(networks.len() <= NETWORKS_MAX, "{networks:?}");
    assert_small("vlans");
    tenant.leave();
}

#[test]
#[ignore = "long: make nightly"]
fn thousands_of_small_definitions_delay_nothing_else() {
    const DEFINITIONS: usize = 5000;
    await_both();
    let tenant = Tenant::new("abuse-small", "s");
    let begun = Instant::now();
    others_are_served("small", || tenant.create((0..DEFINITIONS).map(|number| tenant.config(number, &json!({})))));
    println!("small: {DEFINITIONS} definitions after {:.0?}", begun.elapsed());
    tenant.await_event("TooManyNetworks", &NETWORKS_MAX.to_string());
    eventually("as many networks as one namespace may have", || {
        let networks = tenant.networks();
        check(networks.len() == NETWORKS_MAX, format!("{networks:?}"))
    });
    tenant.networks().iter().for_each(|network| wait_ready(network));
    assert_small("small");
    tenant.leave();
}
