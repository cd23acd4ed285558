//! The processing of a message, from faults to answers.

use crate::simulator::fault::{Breakage, Moment};
use crate::simulator::handlers::dispatch::{Handler, Outcome, Treatment};
use crate::simulator::log::LogEntry;
use crate::simulator::server::table::Table;
use crate::simulator::server::thread::Server;
use std::ops::ControlFlow;
use usnet_vpp::Message;
use usnet_vpp::messages::{
    SOCKCLNT_CREATE_ID, SOCKCLNT_CREATE_REPLY_ID, SockclntCreateReply, SockclntDelete, SockclntDeleteReply,
};
use usnet_vpp::wire::{Envelope, Header, Reader, message_id, read_envelope, write_frame};

impl Server {
    /// Executes the messages of all clients. A slow VPP executes one message of each client, and
    /// then checks everything else.
    pub(crate) fn run_messages(&mut self) -> ControlFlow<()> {
        let clients: Vec<u32> = self.clients.keys().copied().collect();
        for index in clients {
            while let Some(message) = self.next_message(index) {
                match self.process(index, &message) {
                    None => {}
                    Some(Breakage::Drop) => self.disconnect(index),
                    Some(Breakage::Restart) => return self.restart(),
                    Some(Breakage::Die) => return ControlFlow::Break(()),
                }
                if !self.shared.faults().slow.is_zero() {
                    break;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the next message of a client, unless VPP hangs or is to end.
    fn next_message(&mut self, index: u32) -> Option<Vec<u8>> {
        if self.shared.faults().hang || self.shared.is_stopped() {
            return None;
        }
        self.clients.get_mut(&index)?.next_message()
    }

    /// Executes a message. Returns what it breaks. VPP does not answer a malformed message.
    fn process(&mut self, index: u32, message: &[u8]) -> Option<Breakage> {
        let id = message_id(message).ok()?;
        if id == SOCKCLNT_CREATE_ID {
            self.greet(index, message);
            return None;
        }
        let table = self.clients.get(&index).and_then(|client| client.table.as_ref());
        if table.and_then(Table::id_of::<SockclntDelete>) == Some(id) {
            self.shut_down(index, message);
            return None;
        }
        let handler = table?.handler(id)?;
        let mut reader = Reader::new(message);
        match read_envelope(Header::ClientAndContext, &mut reader) {
            Ok((_, envelope)) if envelope.client_index == index => self.execute(handler, reader, envelope),
            _ => None,
        }
    }

    /// Answers a new client with its index and the table.
    fn greet(&mut self, index: u32, message: &[u8]) {
        let Ok((_, Envelope { context, .. })) = read_envelope(Header::Context, &mut Reader::new(message)) else {
            return;
        };
        let table = Table::new(self.restarts, &self.shared.faults());
        let reply = SockclntCreateReply { response: 0, index, message_table: table.listed() };
        if let Some(client) = self.clients.get_mut(&index) {
            client.table = Some(table);
            client.send(SOCKCLNT_CREATE_REPLY_ID, Envelope { client_index: 0, context }, &reply);
        }
    }

    /// Confirms the shutdown of a client and closes its connection, if the client index in the
    /// message exists.
    fn shut_down(&mut self, index: u32, message: &[u8]) {
        let mut reader = Reader::new(message);
        let Ok((_, envelope)) = read_envelope(SockclntDelete::HEADER, &mut reader) else { return };
        let Ok(SockclntDelete { index: named }) = SockclntDelete::decode(&mut reader) else { return };
        if envelope.client_index != index {
            return;
        }
        let is_known = self.clients.contains_key(&named);
        let Some(client) = self.clients.get_mut(&index) else { return };
        let Some(id) = client.table.as_ref().and_then(Table::id_of::<SockclntDeleteReply>) else { return };
        client.send(id, envelope, &SockclntDeleteReply { response: if is_known { 1 } else { -1 } });
        client.is_closing |= is_known;
    }

    fn execute(&mut self, handler: &'static Handler, mut reader: Reader<'_>, envelope: Envelope) -> Option<Breakage> {
        let slow = self.shared.faults().slow;
        std::thread::sleep(slow);
        let (breaks, treatment) = self.faults_of(handler);
        self.state.caller = envelope.client_index;
        let outcome = (handler.run)(&mut reader, &mut self.state, treatment).ok()?;
        let Outcome { fields, retval, answers, end, died } = outcome;
        let message = handler.request.name;
        self.shared.log().add(LogEntry { message, changes: handler.changes, retval, fields });
        let breaks = if died { Some(Breakage::Die) } else { breaks };
        if breaks.is_some() {
            return breaks;
        }
        let client = self.clients.get_mut(&envelope.client_index)?;
        let answers = answers.into_iter().map(|answer| (handler.answer, answer));
        for (message, fields) in answers.chain(handler.end.zip(end)) {
            let id = client.table.as_ref()?.id(&message)?;
            write_frame(client.out(), id, message.header, envelope, &fields);
        }
        None
    }

    /// Applies faults to a message: how it breaks the connection, and whether it is executed.
    fn faults_of(&self, handler: &Handler) -> (Option<Breakage>, Treatment) {
        let mut faults = self.shared.faults();
        let breaks = faults.count();
        if let Some((how, Moment::Before)) = breaks {
            return (Some(how), Treatment::Ignore);
        }
        let refused = if handler.changes { faults.count_changing() } else { None };
        (breaks.map(|(how, _)| how), refused.map_or(Treatment::Do, Treatment::Refuse))
    }
}
