//! The command line.

use crate::interface::{End, Interface};
use crate::request::Request;
use clap::{Args, Parser, Subcommand};
use ipnet::IpNet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::SystemTime;
use usnet_endpoint::memif::{Socket, Target};

/// Tests interfaces of usnet from inside a pod.
///
/// Without a command, it answers ARP, neighbour discovery and echo requests on all interfaces that
/// have a description, counts numbered frames, and serves requests of other instances. A command is
/// executed by the instance that has the port, or, if there is none, by this one. The answer is a
/// line of JSON. The exit status is 0 if all frames were received, 1 if not, 2 for wrong options,
/// and 3 if the port cannot be used.
#[derive(Debug, Parser)]
#[command(name = "usnet-tools", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The interface. It is needed only if there are several.
    #[arg(long, short, global = true)]
    pub(crate) interface: Option<String>,

    /// The folder of descriptions [default: /run/usnet and the folders of devices].
    #[arg(long, global = true)]
    pub(crate) folder: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) abstract_memif: AbstractMemif,
}

/// A memif with an abstract socket has no description.
#[derive(Debug, Args)]
pub(crate) struct AbstractMemif {
    /// The abstract socket of a memif without a description, which has the interface's name.
    #[arg(long, global = true, value_name = "SOCKET")]
    memif: Option<String>,

    /// An address of that memif, such as 10.0.0.2/24.
    #[arg(id = "memif-address", long = "address", global = true, value_name = "ADDRESS")]
    address: Vec<IpNet>,
}

impl AbstractMemif {
    pub(crate) fn interface(&self) -> Option<Interface> {
        let name = self.memif.clone()?;
        let [_, random @ ..] = nanoseconds().to_le_bytes().map(|byte| byte ^ std::process::id().to_le_bytes()[0]);
        let [_, b, c, d, e, f, ..] = random;
        let target = Target { socket: Socket::Abstract(name.clone()), id: 0, secret: String::new(), ip: false };
        Some(Interface {
            name,
            network: None,
            mac: [2, b, c, d, e, f],
            mtu: 1500,
            addresses: self.address.clone(),
            routes: Vec::new(),
            end: End::Memif(target),
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the interface's addresses, whether an engine is connected, and the numbers of frames.
    Show,
    /// Sends echo requests.
    Ping {
        /// The address to ping.
        address: IpAddr,
        /// The number of requests.
        #[arg(long, short, default_value_t = 3)]
        count: u16,
        /// The time between two requests, in milliseconds.
        #[arg(long, default_value_t = 100)]
        interval: u64,
        /// The time to wait for the last reply, in milliseconds.
        #[arg(long, default_value_t = 5000)]
        timeout: u64,
        /// The bytes of payload.
        #[arg(long, short, default_value_t = 56)]
        size: usize,
    },
    /// Sends numbered frames.
    Send {
        /// The destination MAC address.
        #[arg(long, default_value = "ff:ff:ff:ff:ff:ff")]
        to: String,
        /// The number of frames.
        #[arg(long, short, default_value_t = 1000)]
        count: u32,
        /// The bytes of each frame, with its Ethernet header and without its checksum: at least 60.
        #[arg(long, short, default_value_t = 64)]
        size: usize,
        /// Distinguishes these frames from others; pass the same to `receive` [default: from the
        /// time].
        #[arg(long)]
        stream: Option<u64>,
    },
    /// Reports which numbered frames were received, once all were or the time is over.
    Receive {
        /// The stream that the frames were sent with.
        #[arg(long)]
        stream: u64,
        /// The number of frames that are expected.
        #[arg(long, short, default_value_t = 1000)]
        count: u32,
        /// The time to wait for the last frame, in milliseconds.
        #[arg(long, default_value_t = 5000)]
        timeout: u64,
    },
}

impl Command {
    pub(crate) fn request(self) -> Request {
        match self {
            Self::Show => Request::Show,
            Self::Ping { address, count, interval, timeout, size } => {
                Request::Ping { address, count, interval_ms: interval, timeout_ms: timeout, size }
            }
            Self::Send { to, count, size, stream: named } => {
                Request::Send { to, count, size, stream: named.unwrap_or_else(nanoseconds) }
            }
            Self::Receive { stream, count, timeout } => Request::Receive { stream, count, timeout_ms: timeout },
        }
    }
}

/// Returns the time since 1970, which differs in each run.
fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    fn request(line: &str) -> Request {
        Arguments::try_parse_from(line.split(' ')).unwrap().command.unwrap().request()
    }

    #[test]
    fn each_command_is_a_request() {
        let ping = request("usnet-tools ping fd00::1 -c 7 --address 10.0.0.1/24");
        assert!(matches!(ping, Request::Ping { address, count: 7, .. } if address.is_ipv6()));
        assert!(matches!(
            request("usnet-tools send --stream 3"),
            Request::Send { stream: 3, count: 1000, size: 64, .. }
        ));
        assert!(matches!(request("usnet-tools receive --stream 3 -c 9"), Request::Receive { stream: 3, count: 9, .. }));
        assert_eq!(request("usnet-tools --interface net2 show"), Request::Show);
    }

    #[test]
    fn a_memif_without_a_description_is_given_by_options() {
        let arguments = Arguments::try_parse_from(["usnet-tools", "--memif=net1", "--address=10.0.0.1/24"]).unwrap();
        let interface = arguments.abstract_memif.interface().unwrap();
        assert_eq!((interface.name.as_str(), interface.addresses.len()), ("net1", 1));
    }
}
