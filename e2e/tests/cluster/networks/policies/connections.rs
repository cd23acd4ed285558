//! Connections between pods, from sockets of this program in their network namespaces.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
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
        Self { host, tcp, udp }
    }

    /// The number of datagrams with this text that have arrived since the last call.
    pub(super) fn datagrams(&self, text: &str) -> usize {
        let mut buffer = [0; 64];
        let mut count = 0;
        loop {
            match self.udp.recv(&mut buffer) {
                Ok(length) => count += usize::from(&buffer[..length] == text.as_bytes()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return count,
                Err(error) => panic!("the server's socket: {error}"),
            }
        }
    }

    fn gets(&self, text: &str) -> bool {
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if self.datagrams(text) > 0 {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }
}

/// What of a server a pod reaches over each family: the ports that it connects to, and the one that
/// its datagrams arrive at.
pub(super) fn reached(scene: &Scene, client: Host, server: &Server) -> Vec<String> {
    let station = Station::of_pod(scene, client.name);
    let mut reached = Vec::new();
    for address in server.host.addresses() {
        let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
        let connections: Vec<_> = [ALLOWED, OTHER]
            .map(|port| (port, station.run(move || TcpStream::connect_timeout(&(address, port).into(), GRACE).is_ok())))
            .into();
        let text = format!("{} {address}", client.name);
        let sent = text.clone();
        let send = move || {
            let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
            let socket = UdpSocket::bind((any, 0)).unwrap();
            socket.send_to(sent.as_bytes(), (address, UDP)).unwrap();
        };
        station.run(send).join().unwrap();
        let got = server.gets(&text);
        let ports = connections.into_iter().filter_map(|(port, thread)| thread.join().unwrap().then_some(port));
        reached.extend(ports.map(|port| format!("{family} TCP {port}")));
        reached.extend(got.then(|| format!("{family} UDP {UDP}")));
    }
    reached
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
