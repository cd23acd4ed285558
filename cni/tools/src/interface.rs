//! An interface of the pod, and its description.

use crate::error::Error;
use ipnet::IpNet;
use serde::Deserialize;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) network: Option<String>,
    pub(crate) mac: [u8; 6],
    pub(crate) mtu: usize,
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) routes: Vec<(IpNet, IpAddr)>,
    pub(crate) end: End,
}

/// The way in which frames are sent and received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The program listens on the socket.
    VhostUserServer(PathBuf),
    /// The engine listens on the socket.
    VhostUserClient(PathBuf),
    Memif(usnet_endpoint::memif::Target),
    /// A device of the kernel, which answers ARP, neighbour discovery and echo requests itself.
    Device,
}

impl Interface {
    /// Whether packets have no Ethernet header.
    pub(crate) fn is_ip(&self) -> bool {
        matches!(&self.end, End::Memif(target) if target.ip)
    }

    /// Reads the description at `path`. The socket is in the same folder.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let description: Description =
            serde_json::from_slice(&text).map_err(|source| Error::Description { path: path.to_owned(), source })?;
        Ok(description.interface_in(path.parent().unwrap_or(Path::new("."))))
    }
}

/// The content of `net1.json`, which the CNI plugin writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    network: String,
    interface: String,
    #[serde(flatten)]
    end: Type,
    role: Role,
    socket: Option<String>,
    abstract_socket: Option<String>,
    mac: Mac,
    mtu: usize,
    ips: Vec<Assigned>,
    #[serde(default)]
    routes: Vec<Route>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Type {
    VhostUser,
    Memif {
        id: u32,
        #[serde(default)]
        mode: String,
        #[serde(default)]
        secret: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Server,
    Client,
}

#[derive(Debug, Deserialize)]
struct Assigned {
    address: IpNet,
    gateway: Option<IpAddr>,
}

#[derive(Debug, Deserialize)]
struct Route {
    dst: IpNet,
    gw: Option<IpAddr>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Mac([u8; 6]);

impl TryFrom<String> for Mac {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        parse_mac(&text).map(Self)
    }
}

/// Parses a MAC address such as `02:00:00:00:00:01`.
pub(crate) fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    let octets: Vec<u8> = text.split(':').filter_map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
    match <[u8; 6]>::try_from(octets) {
        Ok(octets) if text.len() == 17 => Ok(octets),
        _ => Err(format!("{text} is not a MAC address")),
    }
}

pub(crate) fn display_mac(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

impl Description {
    fn interface_in(self, folder: &Path) -> Interface {
        let file = folder.join(self.socket.clone().unwrap_or_default());
        let end = match (&self.end, &self.role) {
            (Type::VhostUser, Role::Server) => End::VhostUserServer(file),
            (Type::VhostUser, Role::Client) => End::VhostUserClient(file),
            (Type::Memif { id, mode, secret }, _) => {
                let socket = self.abstract_socket.clone().map(usnet_endpoint::memif::Socket::Abstract);
                let socket = socket.unwrap_or(usnet_endpoint::memif::Socket::File(file));
                let ip = mode.eq_ignore_ascii_case("ip");
                End::Memif(usnet_endpoint::memif::Target { socket, id: *id, secret: secret.clone(), ip })
            }
        };
        let gateway_for = |destination: &IpNet| {
            let same_family = |gateway: &IpAddr| gateway.is_ipv4() == destination.addr().is_ipv4();
            self.ips.iter().filter_map(|ip| ip.gateway).find(same_family)
        };
        let routes =
            self.routes.iter().filter_map(|route| Some((route.dst, route.gw.or_else(|| gateway_for(&route.dst))?)));
        Interface {
            routes: routes.collect(),
            name: self.interface,
            network: Some(self.network),
            mac: self.mac.0,
            mtu: self.mtu,
            addresses: self.ips.iter().map(|ip| ip.address).collect(),
            end,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;
    use usnet_endpoint::memif::{Socket, Target};

    fn read(text: &str) -> Result<Interface, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net1.json");
        std::fs::write(&path, text).unwrap();
        Interface::read(&path).map(|interface| Interface {
            end: match interface.end {
                End::VhostUserServer(path) => End::VhostUserServer(path.file_name().unwrap().into()),
                End::Memif(Target { socket: Socket::File(path), id, secret, ip }) => {
                    End::Memif(Target { socket: Socket::File(path.file_name().unwrap().into()), id, secret, ip })
                }
                other => other,
            },
            ..interface
        })
    }

    #[test]
    fn what_the_plugin_writes_is_read() {
        let text = r#"{"interface":"net1","ips":[{"address":"10.58.0.1/24","gateway":"10.58.0.254"}],"routes":[{"dst":"10.0.0.0/8"}],
            "mac":"02:ce:67:9e:11:bf","mtu":1500,"network":"vhost","queues":1,"ringSize":1024,"role":"server","socket":"net1.sock","type":"vhost-user","version":1}"#;
        let interface = read(text).unwrap();
        assert_eq!(interface.end, End::VhostUserServer("net1.sock".into()));
        assert_eq!(display_mac(interface.mac), "02:ce:67:9e:11:bf");
        assert_eq!(interface.routes, [("10.0.0.0/8".parse().unwrap(), "10.58.0.254".parse().unwrap())]);
        let text = r#"{"id":0,"interface":"net1","ips":[],"mac":"02:59:7e:92:6f:cf","mtu":1500,"network":"memif-secret","queues":1,"ringSize":1024,
            "role":"client","secret":"abc","socket":"net1.sock","type":"memif","version":1}"#;
        let target = Target { socket: Socket::File("net1.sock".into()), id: 0, secret: "abc".to_owned(), ip: false };
        assert_eq!(read(text).unwrap().end, End::Memif(target));
    }

    #[test]
    fn what_is_no_description_is_an_error() {
        for text in ["", "{}", r#"{"interface":"net1","mac":"02"}"#] {
            assert!(matches!(read(text), Err(Error::Description { .. })));
        }
    }
}
