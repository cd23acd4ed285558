//! The way to a port, also after the engine was restarted.

use crate::device::PacketSocket;
use crate::error::Error;
use crate::interface::{End, Interface};
use std::time::Duration;
use usnet_endpoint::vhost_user::{self, Listener};
use usnet_endpoint::{Port, memif};

/// Connects as often as it has to.
pub(crate) enum Connector {
    Listener(Listener),
    Other(Interface),
}

impl Connector {
    pub(crate) fn new(interface: &Interface) -> Result<Self, Error> {
        match &interface.end {
            End::VhostUserServer(path) => Ok(Self::Listener(Listener::bind(path)?)),
            _ => Ok(Self::Other(interface.clone())),
        }
    }

    /// A connected port, if the engine is there within `patience`.
    pub(crate) fn connect(&self, patience: Duration) -> Result<Box<dyn Port>, Error> {
        let interface = match self {
            Self::Listener(listener) => return Ok(Box::new(listener.accept(patience)?)),
            Self::Other(interface) => interface,
        };
        let connected: Result<Box<dyn Port>, Error> = match &interface.end {
            End::VhostUserServer(path) | End::VhostUserClient(path) => {
                vhost_user::connect(path).map(|port| Box::new(port) as Box<dyn Port>).map_err(Error::from)
            }
            End::Memif(target) => {
                memif::connect(target).map(|port| Box::new(port) as Box<dyn Port>).map_err(Error::from)
            }
            End::Device => PacketSocket::open(&interface.name).map(|port| Box::new(port) as Box<dyn Port>),
        };
        if connected.is_err() {
            // Nothing tells when an engine listens.
            std::thread::sleep(patience);
        }
        connected
    }
}
