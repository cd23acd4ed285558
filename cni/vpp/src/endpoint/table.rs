//! The messages that a VPP knows, with their ids on one connection.

use crate::batch::{Batch, Entry};
use crate::error::{Error, Remedy};
use crate::messages::{self, Descriptor, Message, SwInterfaceEvent};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::path::PathBuf;

/// The messages of this crate that a VPP knows, with their ids on one connection. VPP has ten times
/// as many messages.
#[derive(Default)]
pub(crate) struct Table {
    client_index: u32,
    /// The key is name and CRC.
    ids: BTreeMap<&'static str, u16>,
    event: Option<u16>,
}

impl Table {
    pub(super) fn new(client_index: u32, ids: BTreeMap<&'static str, u16>) -> Self {
        let mut table = Self { client_index, ids, event: None };
        table.event = table.id_of::<SwInterfaceEvent>();
        table
    }

    pub(super) const fn client_index(&self) -> u32 {
        self.client_index
    }

    pub(super) const fn event_id(&self) -> Option<u16> {
        self.event
    }

    pub(super) fn id_of<M: Message>(&self) -> Option<u16> {
        self.ids.get(M::NAME_CRC).copied()
    }

    pub(super) fn id(&self, message: &Descriptor) -> Option<u16> {
        self.ids.get(message.name_crc).copied()
    }

    pub(crate) fn supports<M: Message>(&self) -> bool {
        self.id_of::<M>().is_some()
    }

    /// Fails if this VPP lacks a message of the batch or of its answers.
    pub(super) fn check(&self, batch: &Batch) -> Result<(), Unknown> {
        batch.entries().iter().flat_map(Entry::messages).try_for_each(|message| self.require_id(&message))
    }

    /// Fails if this VPP lacks the message.
    #[cfg(feature = "async")]
    pub(crate) fn require<M: Message>(&self) -> Result<(), Unknown> {
        self.require_id(&Descriptor::of::<M>())
    }

    fn require_id(&self, message: &Descriptor) -> Result<(), Unknown> {
        self.id(message).map(drop).ok_or_else(|| self.unknown(message))
    }

    fn unknown(&self, missing: &Descriptor) -> Unknown {
        let loaded = messages::all().any(|other| other.plugin == missing.plugin && self.id(other).is_some());
        let remedy = match missing.plugin {
            Some(plugin) if !loaded => Remedy::LoadPlugin(plugin),
            Some(_) | None => Remedy::UseRelease,
        };
        Unknown { message: missing.name, plugin: missing.plugin, remedy }
    }
}

/// Leaves the messages out, because there are many.
impl Debug for Table {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "Table of {} messages", self.ids.len())
    }
}

/// A message that this VPP lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unknown {
    message: &'static str,
    plugin: Option<&'static str>,
    remedy: Remedy,
}

impl Unknown {
    pub(crate) fn into_error(self, socket: PathBuf) -> Error {
        let Self { message, plugin, remedy } = self;
        Error::Unsupported { socket, message, plugin, remedy }
    }
}
