//! A connection in OpenFlow 1.4 (IO). All requests of a connection have one deadline together,
//! until [`Connection::set_deadline`] starts another one.

use crate::OpenFlowError;
use crate::channel::Channel;
use crate::messages::{
    self, Bundle, BundleStep, Change, FlowFilter, FlowMod, FragmentMode, InstalledFlow, InstalledGroup, Part,
    PortDescription,
};
use crate::wire::{Malformed, Refusal};
use std::path::Path;
use std::time::Duration;

/// A connection to a bridge.
#[derive(Debug)]
pub struct Connection {
    channel: Channel,
    /// The number of bundles so far, which is the id of the last one.
    bundles: u32,
}

/// A bundle that is not committed.
#[derive(Debug)]
struct OpenBundle {
    bundle: Bundle,
    /// The transaction ids of its changes.
    changes: Vec<u32>,
    /// The transaction id of the barrier after them.
    barrier: u32,
}

fn of_flows(changes: &[FlowMod]) -> Vec<Change> {
    changes.iter().cloned().map(Change::Flow).collect()
}

impl Connection {
    /// Connects to a management socket. With the first request both sides agree on the version.
    pub fn open(socket: &Path, timeout: Duration) -> Result<Self, OpenFlowError> {
        let channel = Channel::open(socket, timeout, messages::VERSION, (&messages::hello(), messages::offers_1_4))?;
        Ok(Self { channel, bundles: 0 })
    }

    /// Starts the time for further requests.
    pub fn set_deadline(&mut self, timeout: Duration) {
        self.channel.set_deadline(timeout);
    }

    /// Returns the ports of the bridge, with its local port.
    pub fn ports(&mut self) -> Result<Vec<PortDescription>, OpenFlowError> {
        let mut ports = Vec::new();
        self.parts(messages::PORTS, &[], |part| {
            ports.extend(PortDescription::decode_all(part.content.clone())?);
            Ok(())
        })?;
        Ok(ports)
    }

    /// Returns the flows of all tables, as far as the filter selects them.
    pub fn flows(&mut self, filter: &FlowFilter) -> Result<Vec<InstalledFlow>, OpenFlowError> {
        let id = self.request_flows(filter);
        self.read_flows(id)
    }

    fn request_flows(&mut self, filter: &FlowFilter) -> u32 {
        self.channel.request(messages::MULTIPART_REQUEST, &messages::request(messages::FLOWS, &filter.encode()))
    }

    fn read_flows(&mut self, id: u32) -> Result<Vec<InstalledFlow>, OpenFlowError> {
        let mut flows = Vec::new();
        self.channel.parts(messages::MULTIPART_REPLY, id, |body| {
            let part = Part::decode(body, messages::FLOWS)?;
            flows.extend(InstalledFlow::decode_all(part.content.clone())?);
            Ok(part.has_more)
        })?;
        Ok(flows)
    }

    /// Returns the groups of the bridge.
    pub fn groups(&mut self) -> Result<Vec<InstalledGroup>, OpenFlowError> {
        let mut groups = Vec::new();
        self.parts(messages::GROUPS, &[], |part| {
            groups.extend(InstalledGroup::decode_all(part.content.clone())?);
            Ok(())
        })?;
        Ok(groups)
    }

    fn parts(
        &mut self,
        kind: u16,
        filter: &[u8],
        mut read: impl FnMut(&Part<'_>) -> Result<(), Malformed>,
    ) -> Result<(), OpenFlowError> {
        let types = (messages::MULTIPART_REQUEST, messages::MULTIPART_REPLY);
        self.channel.request_parts(types, &messages::request(kind, filter), |body| {
            let part = Part::decode(body, kind)?;
            read(&part)?;
            Ok(part.has_more)
        })
    }

    /// Returns how the bridge matches fragments.
    pub fn fragment_mode(&mut self) -> Result<FragmentMode, OpenFlowError> {
        let id = self.channel.request(messages::GET_CONFIG_REQUEST, &[]);
        let body = self.channel.reply(messages::GET_CONFIG_REPLY, id)?;
        FragmentMode::decode(&body).map_err(|error| self.channel.malformed(error))
    }

    /// Has the bridge match first fragments by the ports and types that they carry, before the next
    /// request, with which it is sent. That fails if this is refused.
    pub fn match_carried_fragments(&mut self) {
        self.channel.request(messages::SET_CONFIG, &FragmentMode::CARRIED);
    }

    /// Removes the connections that are tracked in a zone. All bridges of the switch share zones.
    pub fn flush_connections(&mut self, zone: u16) -> Result<(), OpenFlowError> {
        self.channel.request(messages::EXPERIMENTER, &messages::flush_zone(zone));
        self.barrier()
    }

    /// Waits until all earlier requests are carried out.
    pub fn barrier(&mut self) -> Result<(), OpenFlowError> {
        let id = self.channel.request(messages::BARRIER_REQUEST, &[]);
        self.channel.reply(messages::BARRIER_REPLY, id).map(drop)
    }

    /// Carries out changes of flows; see [`Self::commit_all`].
    pub fn commit(&mut self, changes: &[FlowMod]) -> Result<(), OpenFlowError> {
        self.commit_all(&of_flows(changes))
    }

    /// Carries out changes in their order, and all of them or none: no frame finds the flows in
    /// between. It needs two round trips, because the switch would commit a bundle without the
    /// changes that it refused.
    ///
    /// Groups of flows are set in the same bundle, before the flows: a bundle with a flow to a
    /// group that is not there ends the switch.
    pub fn commit_all(&mut self, changes: &[Change]) -> Result<(), OpenFlowError> {
        let bundle = self.open_bundle(changes)?;
        self.verify_bundle(&bundle)?;
        self.commit_bundle(&bundle)
    }

    /// Carries out changes as [`Self::commit_all`] does, and looks at flows that the bridge has
    /// before them in the same round trip. What they lead to is changed as well, in another one.
    /// It names no groups.
    pub fn commit_after_look(
        &mut self,
        filter: &FlowFilter,
        changes: &[FlowMod],
        lead_to: impl FnOnce(&[InstalledFlow]) -> Vec<FlowMod>,
    ) -> Result<(), OpenFlowError> {
        let flows = self.request_flows(filter);
        let mut bundle = self.open_bundle(&of_flows(changes))?;
        // A refusal of a change comes after the flows.
        let more = lead_to(&self.read_flows(flows)?);
        self.verify_bundle(&bundle)?;
        if !more.is_empty() {
            self.add_to(&mut bundle, &of_flows(&more));
            self.verify_bundle(&bundle)?;
        }
        self.commit_bundle(&bundle)
    }

    fn open_bundle(&mut self, changes: &[Change]) -> Result<OpenBundle, OpenFlowError> {
        if let Some(group) = messages::unset_group(changes) {
            return Err(OpenFlowError::UnsetGroup(group));
        }
        self.bundles = self.bundles.wrapping_add(1);
        let bundle = Bundle(self.bundles);
        self.channel.request(messages::BUNDLE_CONTROL, &bundle.control(BundleStep::Open));
        let mut open = OpenBundle { bundle, changes: Vec::with_capacity(changes.len()), barrier: 0 };
        self.add_to(&mut open, changes);
        Ok(open)
    }

    /// Adds changes, and a barrier after them.
    fn add_to(&mut self, open: &mut OpenBundle, changes: &[Change]) {
        for change in changes {
            let id = self.channel.next_id();
            let (kind, change) = change.encode();
            self.channel.request_as(id, messages::BUNDLE_ADD_MESSAGE, &open.bundle.add(id, kind, &change));
            open.changes.push(id);
        }
        open.barrier = self.channel.request(messages::BARRIER_REQUEST, &[]);
    }

    /// Waits until all changes are in a bundle, and discards it if one was refused.
    fn verify_bundle(&mut self, open: &OpenBundle) -> Result<(), OpenFlowError> {
        let Some(refused) = self.first_refusal(messages::BARRIER_REPLY, open.barrier)? else { return Ok(()) };
        let discard = self.channel.request(messages::BUNDLE_CONTROL, &open.bundle.control(BundleStep::Discard));
        // The switch itself discards a bundle that it could not open.
        self.first_refusal(messages::BUNDLE_CONTROL, discard)?;
        Err(self.refusal(&open.changes, refused))
    }

    fn commit_bundle(&mut self, open: &OpenBundle) -> Result<(), OpenFlowError> {
        let commit = self.channel.request(messages::BUNDLE_CONTROL, &open.bundle.control(BundleStep::Commit));
        match self.first_refusal(messages::BUNDLE_CONTROL, commit)? {
            None => Ok(()),
            Some(refused) => Err(self.refusal(&open.changes, refused)),
        }
    }

    /// Answers the probes of the switch for this long. An error means that the connection has
    /// ended: usually because the switch has, and with it all flows.
    pub fn keep(&mut self, time: Duration) -> Result<(), OpenFlowError> {
        self.channel.set_deadline(time);
        self.channel.answer_until_deadline()
    }

    /// Reads until the reply to request `id`, or its refusal. Returns the first refusal of any
    /// request until then.
    fn first_refusal(&mut self, kind: u8, id: u32) -> Result<Option<(u32, Refusal)>, OpenFlowError> {
        let mut first = None;
        loop {
            let Err(refusal) = self.channel.reply_or_refusal(kind, id)? else { return Ok(first) };
            let first = first.get_or_insert(refusal);
            if refusal.0 == id {
                return Ok(Some(*first));
            }
        }
    }

    fn refusal(&self, changes: &[u32], (id, refusal): (u32, Refusal)) -> OpenFlowError {
        match changes.iter().position(|change| *change == id) {
            Some(position) => self.channel.change_refused(position, refusal),
            None => self.channel.refused(refusal),
        }
    }
}
