//! Connections between pods, from sockets of this program in their network namespaces.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::json;

pub(super) const ALLOWED: u16 = 5432;
pub(super) const OTHER: u16 = 5433;
pub(super) const UDP: u16 = 5353;

/// How long a packet may take, before it counts as dropped. The switch forwards it within
/// microseconds; on a busy machine its thread waits, and the kernel sends the first packet of a
/// connection of TCP again after a second.
const GRACE: Duration = Duration::from_millis(1500);

/// The number of attempts so far.
static ATTEMPTS: AtomicUsize = AtomicUsize::new(0);

/// A pod by the number in its addresses.
#[derive(Clone, Copy)]
pub(super) struct Host {
    pub(super) name: &'static str,
    pub(super) number: u8,
}

impl Host {
    pub(super) fn mac(self) -> [u8; 6] {
        [2, 0, 0, 0, 9, self.number]
    }

    pub(super) fn addresses(self) -> [IpAddr; 2] {
        let v6 = format!("fd09::{}", self.number).parse().unwrap();
        [IpAddr::from([10, 9, 0, self.number]), v6]
    }

    /// The entry of the network that fixes its addresses.
    pub(super) fn attachment(self, namespace: &str) -> serde_json::Value {
        let [v4, v6] = self.addresses();
        let mac: Vec<String> = self.mac().iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "namespace": namespace, "pod": self.name, "mac": mac.join(":"),
            "ips": [format!("{v4}/24"), format!("{v6}/64")],
        })
    }
}

/// The pod that others connect to.
pub(super) struct Server {
    pub(super) host: Host,
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    /// The texts of all datagrams that have arrived.
    arrived: RefCell<BTreeSet<String>>,
}

impl Server {
    /// Listens in a pod that runs.
    pub(super) fn start(scene: &Scene, host: Host) -> Self {
        let sockets = || {
            let any = |port| SocketAddr::from(([0_u16; 8], port));
            let tcp = [ALLOWED, OTHER].map(|port| TcpListener::bind(any(port)).unwrap());
            (Vec::from(tcp), UdpSocket::bind(any(UDP)).unwrap())
        };
        let (tcp, udp) = Station::of_pod(scene, host.name).run(sockets).join().unwrap();
        udp.set_nonblocking(true).unwrap();
        Self { host, tcp, udp, arrived: RefCell::default() }
    }

    /// Ends the connections that were not accepted: a queue has room for about a hundred.
    fn end_connections(&self) {
        for listener in &self.tcp {
            listener.set_nonblocking(true).unwrap();
            while listener.accept().is_ok() {}
            listener.set_nonblocking(false).unwrap();
        }
    }

    /// Whether a datagram with this text has ever arrived.
    pub(super) fn has_got(&self, text: &str) -> bool {
        let mut buffer = [0; 64];
        let mut arrived = self.arrived.borrow_mut();
        loop {
            match self.udp.recv(&mut buffer) {
                Ok(length) => drop(arrived.insert(String::from_utf8_lossy(&buffer[..length]).into_owned())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return arrived.contains(text),
                Err(error) => panic!("the server's socket: {error}"),
            }
        }
    }
}

/// An attempt to reach one port of a server over one family of addresses.
enum Attempt {
    Connection(JoinHandle<bool>),
    /// The text of a datagram.
    Datagram(String),
}

/// What of a server each client reaches: the ports that it connects to, and the one that its
/// datagrams arrive at.
pub(super) fn reached(scene: &Scene, clients: &[Host], server: &Server) -> Vec<Vec<String>> {
    server.end_connections();
    let begin = |client: &Host| {
        let station = Station::of_pod(scene, client.name);
        server.host.addresses().map(|address| attempts(&station, address)).into_iter().flatten().collect::<Vec<_>>()
    };
    let begun: Vec<Vec<(String, Attempt)>> = clients.iter().map(begin).collect();
    let until = Instant::now() + GRACE;
    let has_arrived = |attempt: &Attempt| match attempt {
        Attempt::Connection(thread) => thread.is_finished(),
        Attempt::Datagram(text) => server.has_got(text),
    };
    while Instant::now() < until && !begun.iter().flatten().all(|(_, attempt)| has_arrived(attempt)) {
        thread::sleep(Duration::from_millis(2));
    }
    let is_reached = |attempt: Attempt| match attempt {
        Attempt::Connection(thread) => thread.join().unwrap(),
        Attempt::Datagram(text) => server.has_got(&text),
    };
    let of_client = |attempts: Vec<(String, Attempt)>| {
        attempts.into_iter().filter_map(|(name, attempt)| is_reached(attempt).then_some(name)).collect()
    };
    begun.into_iter().map(of_client).collect()
}

/// Begins to reach all ports of an address.
fn attempts(station: &Station, address: IpAddr) -> Vec<(String, Attempt)> {
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let connect = |port: u16| {
        let thread = station.run(move || TcpStream::connect_timeout(&(address, port).into(), GRACE).is_ok());
        (format!("{family} TCP {port}"), Attempt::Connection(thread))
    };
    let mut attempts: Vec<_> = [ALLOWED, OTHER].map(connect).into();
    // One of an earlier attempt may arrive late.
    let text = format!("{} {address} {}", station.name, ATTEMPTS.fetch_add(1, Ordering::Relaxed));
    let sent = text.clone();
    let send = move || {
        let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
        let socket = UdpSocket::bind((any, 0)).unwrap();
        socket.send_to(sent.as_bytes(), (address, UDP)).unwrap();
    };
    station.run(send).join().unwrap();
    attempts.push((format!("{family} UDP {UDP}"), Attempt::Datagram(text)));
    attempts
}

/// What [`reached`] says for these ports.
pub(super) fn both_families(ports: &[(&str, u16)]) -> Vec<String> {
    let of = |family: &'static str| ports.iter().map(move |(protocol, port)| format!("{family} {protocol} {port}"));
    of("IPv4").chain(of("IPv6")).collect()
}

/// A connection to the first port of a server.
pub(super) struct Stream {
    client: TcpStream,
    server: TcpStream,
}

impl Stream {
    pub(super) fn open(scene: &Scene, client: Host, server: &Server) -> Self {
        let to = SocketAddr::from((server.host.addresses()[0], ALLOWED));
        let station = Station::of_pod(scene, client.name);
        let client = station.run(move || TcpStream::connect(to).unwrap()).join().unwrap();
        let own = client.local_addr().unwrap();
        let server = loop {
            // Connections of earlier checks come first.
            let (stream, peer) = server.tcp[0].accept().unwrap();
            if peer.port() == own.port() {
                break stream;
            }
        };
        server.set_read_timeout(Some(GRACE)).unwrap();
        Self { client, server }
    }

    /// Whether what the client writes arrives.
    pub(super) fn passes(&mut self) -> bool {
        self.client.write_all(b"x").unwrap();
        self.server.read(&mut [0; 64]).is_ok_and(|length| length > 0)
    }
}
