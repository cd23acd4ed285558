//! Messages about the connection itself and about VPP as a whole (`memclnt.api`, `vpe.api`,
//! `vlib.api`).

use super::macros::{messages, requests};
use crate::wire::{DecodeError, Field, FixedText, Reader, Text, Writer, decode_elements, structure};

/// The id of [`SockclntCreate`] is the same in every VPP.
pub const SOCKCLNT_CREATE_ID: u16 = 15;
/// The id of [`SockclntCreateReply`] is the same in every VPP.
pub const SOCKCLNT_CREATE_REPLY_ID: u16 = 16;

structure! {
    /// A message that this VPP knows.
    MessageTableEntry {
        /// The id of the message until VPP is restarted.
        index: u16,
        /// Name and CRC, as in [`Message::NAME_CRC`](super::Message::NAME_CRC).
        name: FixedText<64>,
    }
}

/// All messages that this VPP knows, preceded by their number as u16.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageTable(pub Vec<MessageTableEntry>);

impl Field for MessageTable {
    const MIN_SIZE: usize = u16::MIN_SIZE;

    /// Encodes only as many messages as can be counted.
    fn encode(&self, writer: &mut Writer) {
        let count = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        writer.field(&count);
        self.0.iter().take(count.into()).for_each(|entry| entry.encode(writer));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = u16::decode(reader)?;
        decode_elements(reader, count.into()).map(Self)
    }
}

messages! { CLIENT_MESSAGES, None;
    /// The first message of a client.
    Context SockclntCreate("sockclnt_create", "455fb9c4") {
        /// The client's name in `show api clients`.
        name: FixedText<64>,
    }

    /// The answer to [`SockclntCreate`].
    ClientAndContext SockclntCreateReply("sockclnt_create_reply", "35166268") {
        /// The number is negative if the client was refused.
        response: i32,
        /// The client index of all further requests.
        index: u32,
        message_table: MessageTable,
    }

    /// The last message of a client: VPP closes the socket. A client that closes it without this
    /// message may make VPP hang indefinitely.
    ClientAndContext SockclntDelete("sockclnt_delete", "8ac76db6") {
        index: u32,
    }

    /// The answer to [`SockclntDelete`].
    Context SockclntDeleteReply("sockclnt_delete_reply", "8f38b1ee") {
        /// 1 if the client is deleted, -1 if there is none with this index.
        response: i32,
    }
}

requests! { VPP_REQUESTS, None;
    /// Does nothing. Its reply follows those of all earlier requests.
    ControlPing("control_ping", "51077d14") {} => ControlPingReply("f6b0b8ca") {
        client_index: u32,
        /// The id of VPP's process in its own process namespace.
        vpe_pid: u32,
    }

    /// Reads VPP's release.
    ShowVersion("show_version", "51077d14") {} => ShowVersionReply("c919bde1") {
        program: FixedText<32>,
        /// The release, such as `26.06-release`.
        version: FixedText<32>,
        build_date: FixedText<32>,
        build_directory: FixedText<256>,
    }

    /// Executes a command of `vppctl`.
    CliInband("cli_inband", "f8377302") {
        cmd: Text,
    } => CliInbandReply("05879051") {
        reply: Text,
    }
}
