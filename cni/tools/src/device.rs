//! A device of the kernel, used through a packet socket.

use crate::error::Error;
use smoltcp::phy::{Device, Medium, RawSocket, RxToken, TxToken, wait};
use smoltcp::time::Instant;
use std::os::fd::AsRawFd;
use std::time::Duration;
use usnet_endpoint::Port;

/// Sends and receives frames beside the kernel, which uses the device as well.
#[derive(Debug)]
pub(crate) struct PacketSocket(RawSocket);

impl PacketSocket {
    pub(crate) fn open(device: &str) -> Result<Self, Error> {
        let opened = RawSocket::new(device, Medium::Ethernet);
        opened.map(Self).map_err(|source| Error::Device { device: device.to_owned(), source })
    }
}

impl Port for PacketSocket {
    fn send(&mut self, frame: &[u8]) -> Result<(), usnet_endpoint::Error> {
        let limit = self.0.capabilities().max_transmission_unit;
        if frame.len() > limit {
            return Err(usnet_endpoint::Error::TooLong { length: frame.len(), limit });
        }
        if let Some(token) = self.0.transmit(Instant::now()) {
            token.consume(frame.len(), |buffer| buffer.copy_from_slice(frame));
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, usnet_endpoint::Error> {
        let Some((token, _)) = self.0.receive(Instant::now()) else { return Ok(false) };
        token.consume(|frame| {
            buffer.clear();
            buffer.extend_from_slice(frame);
        });
        Ok(true)
    }

    fn wait(&self, timeout: Duration) -> Result<bool, usnet_endpoint::Error> {
        wait(self.0.as_raw_fd(), Some(timeout.into()))
            .map(|()| true)
            .map_err(|source| usnet_endpoint::Error::Resources { what: "a wait", source })
    }
}
