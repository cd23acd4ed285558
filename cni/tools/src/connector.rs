//! Connecting to a port, also after a restart of the engine.

use crate::device::PacketSocket;
use crate::error::Error;
use crate::interface::{End, Interface};
use std::time::Duration;
use usnet_endpoint::vhost_user::{self, Listener};
use usnet_endpoint::{Port, memif};

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

    /// Connects to the port if the engine is there within `timeout`. Otherwise it takes that long
    /// as well, so that callers can retry in a loop.
    pub(crate) fn connect(&self, timeout: Duration) -> Result<Box<dyn Port>, Error> {
        let interface = match self {
            Self::Listener(listener) => return Ok(Box::new(listener.accept(timeout)?)),
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
            // There is no event for a socket on which an engine starts to listen.
            std::thread::sleep(timeout);
        }
        connected
    }
}
