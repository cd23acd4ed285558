//! A connection in OpenFlow 1.0 (IO). It is opened for a few requests and closed again.

use super::answer;
use super::message;
use super::port_config::{Flooding, PortConfig};
use crate::OpenFlowError;
use crate::channel::Channel;
use crate::wire::Malformed;
use std::path::Path;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Connection(Channel);

impl Connection {
    /// Connects. `timeout` limits all requests of the connection together.
    pub(super) fn open(socket: &Path, timeout: Duration) -> Result<Self, OpenFlowError> {
        // A switch that speaks another version alone refuses the first request.
        Channel::open(socket, timeout, message::VERSION, (&[], |_| Ok(true))).map(Self)
    }

    /// Whether the bridge has the flow of a learning switch and no other.
    pub(super) fn is_normal(&mut self) -> Result<bool, OpenFlowError> {
        if self.count(None)? != 1 {
            return Ok(false);
        }
        let parts = self.stats(&message::flows())?;
        // The reply has a flow that was added meanwhile: the bridge is no longer normal.
        let [(kind, only)] = parts.as_slice() else { return Ok(false) };
        let flow = answer::of_nicira(*kind, only).ok_or_else(|| self.malformed())?;
        if flow.is_empty() {
            return Ok(false);
        }
        answer::is_normal_flow(flow).ok_or_else(|| self.malformed())
    }

    /// Whether any flow forwards like a learning switch.
    pub(super) fn has_normal(&mut self) -> Result<bool, OpenFlowError> {
        Ok(self.count(Some(message::NORMAL))? > 0)
    }

    /// Returns the ports of the bridge, with its local port.
    pub(super) fn ports(&mut self) -> Result<Vec<PortConfig>, OpenFlowError> {
        let mut ports = Vec::new();
        for (kind, part) in self.stats(&message::ports())? {
            ports.extend(answer::ports(kind, &part).ok_or_else(|| self.malformed())?);
        }
        Ok(ports)
    }

    /// Replaces all flows by the flow of a learning switch. Both messages are sent at once, so that
    /// hardly a frame finds no flow.
    pub(super) fn set_normal(&mut self) -> Result<(), OpenFlowError> {
        self.change(&[(message::FLOW_MOD, message::delete_flows()), (message::FLOW_MOD, message::add_normal())])
    }

    /// Clears the configuration that stops frames at a port.
    pub(super) fn open_port(&mut self, port: &PortConfig, flooding: Flooding) -> Result<(), OpenFlowError> {
        self.change(&[(message::PORT_MOD, message::open_port(port, flooding))])
    }

    /// Sets to which ports frames are flooded.
    pub(super) fn set_flooding(&mut self, ports: &[(PortConfig, bool)]) -> Result<(), OpenFlowError> {
        let message = |(port, is_flooded): &(PortConfig, bool)| message::set_flooding(port, *is_flooded);
        self.change(&ports.iter().map(|port| (message::PORT_MOD, message(port))).collect::<Vec<_>>())
    }

    fn count(&mut self, port: Option<u16>) -> Result<u32, OpenFlowError> {
        let parts = self.stats(&message::count(port))?;
        let count = parts.first().and_then(|(kind, part)| answer::count(answer::of_nicira(*kind, part)?));
        count.ok_or_else(|| self.malformed())
    }

    /// Sends changes and a barrier. A change is answered only if it fails, and the barrier always
    /// is.
    fn change(&mut self, messages: &[(u8, Vec<u8>)]) -> Result<(), OpenFlowError> {
        for (kind, body) in messages {
            self.0.request(*kind, body);
        }
        let barrier = self.0.request(message::BARRIER_REQUEST, &[]);
        self.0.reply(message::BARRIER_REPLY, barrier).map(drop)
    }

    /// Requests statistics, and returns all parts of the reply.
    fn stats(&mut self, request: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, OpenFlowError> {
        let mut parts = Vec::new();
        let types = (message::STATS_REQUEST, message::STATS_REPLY);
        self.0.request_parts(types, request, |body| {
            let (kind, has_more, rest) = answer::stats(body).ok_or(MALFORMED)?;
            parts.push((kind, rest.to_vec()));
            Ok(has_more)
        })?;
        Ok(parts)
    }

    fn malformed(&self) -> OpenFlowError {
        self.0.malformed(MALFORMED)
    }
}

const MALFORMED: Malformed = Malformed::Length("a statistics reply");
