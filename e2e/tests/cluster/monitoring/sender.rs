//! A pod that sends frames which are not its own, and begins connections without end.

use crate::support::cluster::{apply, eventually, on_node, vsctl};
use crate::support::pods::{NODE, pod_without_volume, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::{Value, json};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use usnet_test_abuse::{Frame, send};

pub(super) const NETWORK: &str = "monitored-4";
const POD: &str = "sender";
const MAC: [u8; 6] = [2, 0, 0, 0, 0x38, 4];
const ADDRESS: [u8; 4] = [10, 56, 97, 4];
/// A pod that is not there.
const OTHER: [u8; 4] = [10, 56, 97, 5];
/// How many connections its network may have: many more would take minutes.
const CONNECTIONS_MAX: u32 = 10;

/// How many forged frames are sent at once: two hundred times a second they are more than enough
/// for the alert, and on a busy machine still enough.
const FORGED: usize = 10;

/// Sends until it is dropped.
pub(super) struct Sender {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    pub(super) fn start(scene: &Scene) -> Self {
        scene.network(NETWORK, &network(&scene.name));
        apply(&policy(&scene.name));
        start(scene, &pod_without_volume(scene, POD, NETWORK));
        let zone = eventually("the zone of the network", || {
            let zone = vsctl(NODE, &["get", "Bridge", "br-monitored-4", "external_ids:usnet.dev/policy-zone"]);
            zone.trim().trim_matches('"').parse::<u16>().map_err(|error| format!("{zone}: {error}"))
        });
        let limit = format!("zone={zone},limit={CONNECTIONS_MAX}");
        on_node(NODE, &["ovs-appctl", "dpctl/ct-set-limits", "netdev@ovs-netdev", &limit]);
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
        let thread = Station::of_pod(scene, POD).run(work);
        Self { ends, thread: Some(thread) }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn network(namespace: &str) -> Value {
    let text = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    let address = format!("{}/24", std::net::Ipv4Addr::from(ADDRESS));
    json!({
        "port": {"type": "Veth", "antiSpoofing": "Address"}, "policies": "Enabled",
        "attachments": [{"namespace": namespace, "pod": POD, "mac": text(&MAC), "ips": [address]}],
    })
}

/// No pod may reach this one, whose own connections are remembered for their answers.
fn policy(namespace: &str) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {"name": POD, "namespace": namespace, "annotations": {"k8s.v1.cni.cncf.io/policy-for": NETWORK}},
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
