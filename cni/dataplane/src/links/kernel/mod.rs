//! The devices of the kernel, over netlink (IO).

mod fdb;
mod isolation;
mod monitor;
pub(super) mod namespace;
mod nics;
mod node_access;
mod observe;
mod pair;
mod vxlan;

pub use isolation::Kept;
pub use monitor::LinkMonitor;

use super::model::ObservedLinks;
use super::operation::LinkOp;
use super::{LinkError, Links};
use crate::isolation::Guard;
use crate::netlink::{Ethtool, Netlink, NetlinkError};
use crate::nftables::Nftables;
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::errno::Errno;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The devices of a network namespace.
#[derive(Debug)]
pub struct KernelLinks {
    netlink: Netlink,
    ethtool: Ethtool,
    network_namespace: Option<PathBuf>,
    /// None until it is needed.
    nftables: Option<Nftables>,
}

impl KernelLinks {
    /// The devices of a network namespace; none is that of this process.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the kernel opens no netlink socket.
    pub fn open(network_namespace: Option<&Path>) -> Result<Self, LinkError> {
        let open = || {
            let sockets = Netlink::open(NETLINK_ROUTE).and_then(|netlink| Ok((netlink, Ethtool::open()?)));
            sockets.map_err(failed("open a netlink socket"))
        };
        let (netlink, ethtool) = namespace::within(network_namespace, open)?;
        let network_namespace = network_namespace.map(Path::to_owned);
        Ok(Self { netlink, ethtool, network_namespace, nftables: None })
    }

    fn execute(&mut self, message: RouteNetlinkMessage, flags: u16) -> Result<(), NetlinkError> {
        self.netlink.request::<_, RouteNetlinkMessage>(message, flags).map(drop)
    }

    /// How often a list is read that changes meanwhile.
    const DUMPS: usize = 8;

    fn dump(&mut self, message: &RouteNetlinkMessage) -> Result<Vec<RouteNetlinkMessage>, NetlinkError> {
        let mut last = NetlinkError::Interrupted;
        for _ in 0..Self::DUMPS {
            match self.netlink.request(message.clone(), NLM_F_DUMP) {
                Err(error @ NetlinkError::Interrupted) => last = error,
                other => return other,
            }
        }
        Err(last)
    }
}

impl Links for KernelLinks {
    fn observe(&mut self, addresses: &BTreeSet<IpAddr>) -> Result<ObservedLinks, LinkError> {
        observe::observe(self, addresses)
    }

    fn apply(&mut self, operation: &LinkOp) -> Result<(), LinkError> {
        match operation {
            LinkOp::Create { owner, underlay, device } => {
                let index = self.create(owner, *underlay, device).map_err(failed(&operation.to_string()))?;
                self.isolate([Guard::port(owner.device().as_str())])?;
                self.set_up(index, true).map_err(failed(&operation.to_string()))?;
                return self.connect(owner, index, device.mtu);
            }
            LinkOp::Connect { owner, index, mtu } => return self.connect(owner, *index, *mtu),
            LinkOp::Rename { owner, index, .. } => self.rename(*index, owner.device().as_str()),
            LinkOp::Configure { owner, index, mtu } => {
                self.configure(*index, owner, *mtu).map_err(failed(&operation.to_string()))?;
                self.isolate([Guard::port(owner.device().as_str())])?;
                self.set_up(*index, true)
            }
            LinkOp::ChangePeers { index, add, remove, .. } => self.change_peers(*index, add, remove),
            LinkOp::Delete { index, .. } => self.delete(*index),
        }
        .map_err(|error| from_netlink(operation.to_string(), error))
    }
}

fn failed(what: &str) -> impl FnOnce(NetlinkError) -> LinkError + '_ {
    move |error| from_netlink(what.to_owned(), error)
}

/// What the kernel's error means. It has no other code for these.
fn from_netlink(what: String, error: NetlinkError) -> LinkError {
    match &error {
        error if error.is(Errno::EPERM) || error.is(Errno::EACCES) => LinkError::NotPermitted,
        error if error.is(Errno::EEXIST) => LinkError::Exists,
        error if error.is(Errno::EADDRINUSE) => LinkError::PortInUse,
        error if error.is(Errno::EOPNOTSUPP) => LinkError::Unsupported,
        _ => LinkError::Netlink { what, source: error },
    }
}
