//! The table of messages, which a client gets when it connects.

use crate::simulator::fault::Faults;
use crate::simulator::handlers::all::HANDLERS;
use crate::simulator::handlers::dispatch::Handler;
use std::collections::{HashMap, HashSet};
use usnet_vpp::messages::{self, MessageTable, MessageTableEntry, SOCKCLNT_CREATE_ID};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Descriptor, Message};

/// The ids of the messages that open and close connections are the same in every VPP, in the order
/// of their table.
const FIXED: u16 = SOCKCLNT_CREATE_ID;
const FIXED_COUNT: u16 = 4;
const FIRST_ID: u16 = 100;
/// The difference between the ids of two runs.
const SHIFT: u16 = 13;
/// The number of messages of a VPP 26.06 with many plugins. Such a table does not fit into one
/// read.
const COUNT: u16 = 1379;

/// The messages that one connection can use.
#[derive(Debug)]
pub(crate) struct Table {
    handlers: HashMap<u16, &'static Handler>,
    ids: HashMap<&'static str, u16>,
}

impl Table {
    /// Returns the table of a run of VPP, without the messages that faults remove.
    pub(crate) fn new(restarts: u16, faults: &Faults) -> Self {
        let known = messages::all().filter(|message| faults.knows(message.name, message.plugin));
        let ids: HashMap<&str, u16> =
            known.filter_map(|message| Some((message.name_crc, id(message, restarts)?))).collect();
        let handlers = HANDLERS.iter().filter_map(|handler| Some((*ids.get(handler.request.name_crc)?, handler)));
        Self { handlers: handlers.collect(), ids }
    }

    /// Returns the handler of a message id.
    pub(crate) fn handler(&self, id: u16) -> Option<&'static Handler> {
        self.handlers.get(&id).copied()
    }

    /// Returns the id of a message that is in the table.
    pub(crate) fn id(&self, message: &Descriptor) -> Option<u16> {
        self.ids.get(message.name_crc).copied()
    }

    pub(crate) fn id_of<M: Message>(&self) -> Option<u16> {
        self.id(&Descriptor::of::<M>())
    }

    /// Returns the table as it is sent, filled up with messages that are not simulated.
    pub(crate) fn listed(&self) -> MessageTable {
        let known = self.ids.iter().map(|(name, index)| (*index, (*name).to_owned()));
        let used: HashSet<u16> = self.ids.values().copied().collect();
        let free = (FIRST_ID..=u16::MAX).filter(|index| !used.contains(index));
        let others = free.map(|index| (index, format!("not_simulated_{index}_00000000")));
        let listed = known.chain(others).take(COUNT.into());
        // All names are far shorter than 64 bytes.
        let entry = |(index, name)| Some(MessageTableEntry { index, name: FixedText::new(name).ok()? });
        MessageTable(listed.filter_map(entry).collect())
    }
}

/// Returns the id of a message in a run of VPP.
fn id(message: &Descriptor, restarts: u16) -> Option<u16> {
    let position = u16::try_from(messages::all().position(|other| other == message)?).ok()?;
    let first = FIRST_ID.checked_add(SHIFT.checked_mul(restarts % 100)?)?;
    if position < FIXED_COUNT { Some(FIXED + position) } else { first.checked_add(position) }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::simulator::{Fault, fault::Faults};
    use usnet_vpp::messages::{
        MemifCreate, MemifCreateV2, SOCKCLNT_CREATE_ID, SOCKCLNT_CREATE_REPLY_ID, ShowVersion, SockclntCreate,
        SockclntCreateReply,
    };

    #[test]
    fn ids_are_fixed_only_for_connecting() {
        let (first, second) = (Table::new(0, &Faults::default()), Table::new(1, &Faults::default()));
        assert_eq!(first.id_of::<SockclntCreate>(), Some(SOCKCLNT_CREATE_ID));
        assert_eq!(second.id_of::<SockclntCreateReply>(), Some(SOCKCLNT_CREATE_REPLY_ID));
        assert_ne!(first.id_of::<ShowVersion>(), second.id_of::<ShowVersion>());
    }

    #[test]
    fn table_lacks_what_faults_take() {
        let mut faults = Faults::default();
        faults.add(Fault::Missing("memif_create_v2".to_owned()));
        let table = Table::new(0, &faults);
        assert_eq!((table.id_of::<MemifCreateV2>(), table.id_of::<MemifCreate>().is_some()), (None, true));
        faults.add(Fault::WithoutPlugin("memif_plugin.so".to_owned()));
        assert_eq!(Table::new(0, &faults).id_of::<MemifCreate>(), None);
    }

    #[test]
    fn list_is_as_long_as_that_of_vpp_and_each_id_is_in_it_once() {
        let listed = Table::new(0, &Faults::default()).listed().0;
        let ids: std::collections::BTreeSet<u16> = listed.iter().map(|entry| entry.index).collect();
        assert_eq!((listed.len(), ids.len()), (1379, 1379));
    }
}
