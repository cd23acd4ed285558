//! A pod that sends frames which are not its own, and begins connections without end.

use crate::support::cluster::{apply, eventually, on_node, vsctl};
use crate::support::pods::{NODE, pod_without_volume, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::vpp;
use serde_json::{Value, json};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_test_abuse::{Frame, send};
use usnet_vpp::messages::CliInband;

const MAC: [u8; 6] = [2, 0, 0, 0, 0x38, 4];
const ADDRESS: [u8; 4] = [10, 56, 97, 4];
/// A pod that is not there.
const OTHER: [u8; 4] = [10, 56, 97, 5];
/// How many connections its network may have, or all networks of VPP: many more would take minutes.
const CONNECTIONS_MAX: u32 = 10;
/// What VPP has by itself.
const SESSIONS_MAX: u32 = 500_000;

/// How many forged frames are sent at once: two hundred times a second they are more than enough
/// for the alert, and on a busy machine still enough.
const FORGED: usize = 10;

/// Sends until it is dropped.
pub(super) struct Sender {
    engine: EngineKind,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    pub(super) fn start(scene: &Scene, engine: EngineKind) -> Self {
        let name = network_of(engine);
        scene.network(name, &network(&scene.name, engine));
        apply(&policy(&scene.name, name));
        start(scene, &pod_without_volume(scene, name, name));
        match engine {
            EngineKind::OpenVswitch => limit_connections(name),
            EngineKind::Vpp => limit_sessions(CONNECTIONS_MAX).unwrap(),
        }
        let ends = Arc::new(AtomicBool::new(false));
        let is_ending = Arc::clone(&ends);
        let work = move || {
            for port in (1024..=u16::MAX).cycle() {
                let frame = |source| Frame { name: "a datagram".to_owned(), bytes: datagram(source, port) };
                let frames: Vec<Frame> = iter::once(ADDRESS).chain([OTHER; FORGED]).map(frame).collect();
                send(None, "net1", &frames).unwrap();
                if is_ending.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
        };
        let thread = Station::of_pod(scene, name).run(work);
        Self { engine, ends, thread: Some(thread) }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
        if self.engine == EngineKind::Vpp
            && let Err(error) = limit_sessions(SESSIONS_MAX)
        {
            eprintln!("{error}");
        }
    }
}

/// The network of the pod of an engine, which has the same name.
pub(super) const fn network_of(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::OpenVswitch => "monitored-4",
        EngineKind::Vpp => "monitored-5",
    }
}

fn limit_connections(network: &str) {
    let zone = eventually("the zone of the network", || {
        let zone = vsctl(NODE, &["get", "Bridge", &format!("br-{network}"), "external_ids:usnet.dev/policy-zone"]);
        zone.trim().trim_matches('"').parse::<u16>().map_err(|error| format!("{zone}: {error}"))
    });
    let limit = format!("zone={zone},limit={CONNECTIONS_MAX}");
    on_node(NODE, &["ovs-appctl", "dpctl/ct-set-limits", "netdev@ovs-netdev", &limit]);
}

fn limit_sessions(most: u32) -> Result<(), String> {
    let cmd = format!("set acl-plugin session table max-entries {most}");
    vpp::request(NODE, CliInband { cmd: cmd.into() })
}

fn network(namespace: &str, engine: EngineKind) -> Value {
    let text = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    let address = format!("{}/24", std::net::Ipv4Addr::from(ADDRESS));
    json!({
        "engine": engine.traits().api_name,
        "port": {"type": "Veth", "antiSpoofing": "Address"}, "policies": "Enabled",
        "attachments": [{"namespace": namespace, "pod": network_of(engine), "mac": text(&MAC), "ips": [address]}],
    })
}

/// No pod may reach this one, whose own connections are remembered for their answers.
fn policy(namespace: &str, network: &str) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {"name": network, "namespace": namespace, "annotations": {"k8s.v1.cni.cncf.io/policy-for": network}},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
    })
}

/// A frame of the pod with a datagram over IPv4, without the checksum of UDP, which may be left
/// out.
fn datagram(source: [u8; 4], port: u16) -> Vec<u8> {
    let mut ip = [&[0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0][..], &source, &OTHER].concat();
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!u16::try_from(folded).unwrap()).to_be_bytes());
    let udp = [&port.to_be_bytes()[..], &[0, 9, 0, 12, 0, 0], b"more"].concat();
    [&[2, 0, 0, 0, 0x38, 5][..], &MAC, &[8, 0], &ip, &udp].concat()
}
