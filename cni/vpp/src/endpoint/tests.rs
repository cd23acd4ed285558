use super::*;
use crate::messages::{
    BridgeDomainAddDelV2, BridgeDomainAddDelV2Reply, ControlPing, ControlPingReply, MemifCreateV2, MemifDelete,
    MemifDeleteReply, MemifDetails, MemifDump, MessageTable, MessageTableEntry, SOCKCLNT_CREATE_REPLY_ID,
    SockclntCreateReply, SwInterfaceEvent, all,
};
use crate::wire::{FrameDecoder, Header, Reader, read_envelope};
use crate::{Remedy, ReplyError, ReturnCode};
use std::path::PathBuf;

const FIRST_ID: u16 = 100;

/// Returns the message id in the VPP of these tests, which follows from the index in the table.
fn id<M: Message>() -> u16 {
    let position = all().position(|descriptor| descriptor.name_crc == M::NAME_CRC).expect("in the table");
    FIRST_ID + u16::try_from(position).expect("few")
}

fn table(knows: impl Fn(&str) -> bool) -> SockclntCreateReply {
    let entries = (FIRST_ID..).zip(all()).filter(|(_, descriptor)| knows(descriptor.name));
    let entry = |(index, descriptor): (u16, &crate::Descriptor)| MessageTableEntry {
        index,
        name: FixedText::new(descriptor.name_crc).expect("at most 63 bytes"),
    };
    SockclntCreateReply { response: 0, index: 0x8000_0001, message_table: MessageTable(entries.map(entry).collect()) }
}

fn connected(knows: impl Fn(&str) -> bool) -> Endpoint {
    let mut endpoint = Endpoint::new();
    let create = endpoint.outgoing().len();
    assert_eq!(create, 16 + 70);
    endpoint.sent(create);
    let mut bytes = Vec::new();
    write_message(&mut bytes, SOCKCLNT_CREATE_REPLY_ID, Envelope::default(), &table(knows));
    endpoint.receive(&bytes);
    assert!(matches!(endpoint.next_event(), Ok(Some(Event::Ready(_)))));
    endpoint
}

/// Returns ids and contexts of the messages that the endpoint sends.
fn sent(endpoint: &mut Endpoint) -> Vec<(u16, u32)> {
    let mut decoder = FrameDecoder::default();
    decoder.receive(endpoint.outgoing());
    endpoint.sent(endpoint.outgoing().len());
    let mut messages = Vec::new();
    while let Some(message) = decoder.next_message().expect("frames") {
        let (id, envelope) = read_envelope(Header::ClientAndContext, &mut Reader::new(&message)).expect("an envelope");
        assert_eq!(envelope.client_index, 0x8000_0001);
        messages.push((id, envelope.context));
    }
    messages
}

fn receive<M: Message>(endpoint: &mut Endpoint, context: u32, message: &M) {
    let mut bytes = Vec::new();
    write_message(&mut bytes, id::<M>(), Envelope { client_index: 0x8000_0001, context }, message);
    endpoint.receive(&bytes);
}

fn answers(endpoint: &mut Endpoint) -> Answers {
    match endpoint.next_event() {
        Ok(Some(Event::Answered { answers, .. })) => answers,
        other => panic!("no answers: {other:?}"),
    }
}

#[test]
fn replies_details_and_events_are_distinguished() {
    let mut endpoint = connected(|_| true);
    let mut batch = Batch::new();
    let delete = batch.request(MemifDelete { sw_if_index: 3 });
    let dump = batch.dump(MemifDump {});
    let bridge = batch.request(BridgeDomainAddDelV2::default());
    endpoint.submit(batch).expect("all known");
    let sent = sent(&mut endpoint);
    let ids: Vec<u16> = sent.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [id::<MemifDelete>(), id::<MemifDump>(), id::<ControlPing>(), id::<BridgeDomainAddDelV2>()]);
    let [delete_context, dump_context, ping, bridge_context] = [0, 1, 2, 3].map(|index| sent[index].1);

    receive(&mut endpoint, delete_context, &MemifDeleteReply { retval: -2 });
    receive(&mut endpoint, dump_context, &MemifDetails { id: 7, ..MemifDetails::default() });
    // The bytes of the event at the offset of a context equal the context of a pending request.
    receive(&mut endpoint, 0, &SwInterfaceEvent { pid: bridge_context, ..SwInterfaceEvent::default() });
    receive(&mut endpoint, dump_context, &MemifDetails { id: 8, ..MemifDetails::default() });
    receive(&mut endpoint, ping, &ControlPingReply::default());
    assert!(matches!(endpoint.next_event(), Ok(Some(Event::InterfaceChanged))));
    assert!(matches!(endpoint.next_event(), Ok(None)), "one answer is missing");
    assert_eq!(endpoint.pending_request(), "bridge_domain_add_del_v2");
    receive(&mut endpoint, bridge_context, &BridgeDomainAddDelV2Reply { retval: 0, bd_id: 4 });

    let answers = answers(&mut endpoint);
    let refused = ReplyError::Refused { message: "memif_delete", code: ReturnCode::InvalidSwIfIndex };
    assert_eq!(answers.reply(delete), Err(refused));
    let found: Vec<u32> = answers.details(dump).expect("details").iter().map(|details| details.id).collect();
    assert_eq!(found, [7, 8]);
    assert_eq!(answers.reply(bridge).map(|reply| reply.bd_id), Ok(4));
}

#[test]
fn only_messages_of_this_crate_are_kept_of_the_table() {
    let mut reply = table(|_| true);
    let name = FixedText::new("others_0123abcd").expect("at most 63 bytes");
    reply.message_table.0.extend((5000..6000).map(|index| MessageTableEntry { index, name: name.clone() }));
    let mut endpoint = Endpoint::new();
    let mut bytes = Vec::new();
    write_message(&mut bytes, SOCKCLNT_CREATE_REPLY_ID, Envelope::default(), &reply);
    endpoint.receive(&bytes);
    let Ok(Some(Event::Ready(table))) = endpoint.next_event() else { panic!("no table") };
    assert_eq!(format!("{table:?}"), format!("Table of {} messages", all().count()));
    assert_eq!(table.id_of::<MemifDump>(), Some(id::<MemifDump>()));
}

#[test]
fn no_more_than_the_window_is_in_flight() {
    let mut endpoint = connected(|_| true);
    let mut batch = Batch::new();
    for _ in 0..1000 {
        batch.request(ControlPing {});
    }
    let small = {
        let mut batch = Batch::new();
        batch.request(ControlPing {});
        batch
    };
    let large = endpoint.submit(batch).expect("known");
    let small = endpoint.submit(small).expect("known");
    let mut seen = 0;
    let mut finished = Vec::new();
    loop {
        let sent = sent(&mut endpoint);
        assert!(sent.len() <= 256, "{} at once", sent.len());
        if sent.is_empty() {
            break;
        }
        seen += sent.len();
        for (_, context) in sent {
            receive(&mut endpoint, context, &ControlPingReply::default());
        }
        while let Some(event) = endpoint.next_event().expect("good replies") {
            if let Event::Answered { batch, .. } = event {
                finished.push(batch);
            }
        }
    }
    assert_eq!((seen, finished), (1001, vec![large, small]));
}

#[test]
fn unexpected_answer_is_an_error() {
    let mut endpoint = connected(|_| true);
    let mut batch = Batch::new();
    batch.request(MemifDelete { sw_if_index: 3 });
    endpoint.submit(batch).expect("known");
    let context = sent(&mut endpoint).first().expect("a request").1;
    receive(&mut endpoint, context, &ControlPingReply::default());
    let unexpected = ProtocolError::Unexpected { id: id::<ControlPingReply>(), context };
    assert_eq!(endpoint.next_event().map(drop), Err(unexpected));
    receive(&mut endpoint, context + 1, &MemifDeleteReply::default());
    assert!(endpoint.next_event().is_err());
}

#[test]
fn truncated_reply_fails_its_own_request_only() {
    let mut endpoint = connected(|_| true);
    let mut batch = Batch::new();
    let bad = batch.request(MemifDelete { sw_if_index: 3 });
    let good = batch.request(ControlPing {});
    endpoint.submit(batch).expect("known");
    let sent = sent(&mut endpoint);
    let mut bytes = Vec::new();
    let envelope = Envelope { client_index: 0, context: sent[0].1 };
    crate::wire::write_frame(&mut bytes, id::<MemifDeleteReply>(), Header::Context, envelope, &[0, 0]);
    endpoint.receive(&bytes);
    receive(&mut endpoint, sent[1].1, &ControlPingReply { vpe_pid: 9, ..ControlPingReply::default() });
    let answers = answers(&mut endpoint);
    assert!(matches!(answers.reply(bad), Err(ReplyError::Malformed { message: "memif_delete", .. })));
    assert_eq!(answers.reply(good).map(|reply| reply.vpe_pid), Ok(9));
}

#[test]
fn ticket_of_another_batch_is_refused() {
    let mut endpoint = connected(|_| true);
    let (mut first, mut other) = (Batch::new(), Batch::new());
    first.request(ControlPing {});
    let ticket = other.request(MemifDelete { sw_if_index: 3 });
    endpoint.submit(first).expect("known");
    let context = sent(&mut endpoint)[0].1;
    receive(&mut endpoint, context, &ControlPingReply::default());
    assert_eq!(answers(&mut endpoint).reply(ticket), Err(ReplyError::OtherBatch { message: "memif_delete" }));
}

fn unsupported(knows: impl Fn(&str) -> bool) -> crate::Error {
    let mut endpoint = connected(knows);
    let mut batch = Batch::new();
    batch.request(ControlPing {});
    batch.request(MemifCreateV2::default());
    let unknown = endpoint.submit(batch).expect_err("not known");
    assert_eq!(sent(&mut endpoint), [], "nothing is sent");
    unknown.into_error(PathBuf::from("/run/vpp/api.sock"))
}

#[test]
fn plugin_that_is_not_loaded_is_distinguished_from_an_old_release() {
    let error = unsupported(|name| !name.contains("memif"));
    assert_eq!(
        error.to_string(),
        "VPP at /run/vpp/api.sock does not know the message memif_create_v2; \
         load the plugin memif_plugin.so in its startup.conf"
    );
    let error = unsupported(|name| !name.contains("_v2"));
    assert!(matches!(
        error,
        crate::Error::Unsupported { plugin: Some("memif_plugin.so"), remedy: Remedy::UseRelease, .. }
    ));
    assert!(error.to_string().ends_with("use VPP 26.06"), "{error}");
}

#[test]
fn rejected_client_is_an_error() {
    let mut endpoint = Endpoint::new();
    let mut bytes = Vec::new();
    let refusal = SockclntCreateReply { response: -1, ..SockclntCreateReply::default() };
    write_message(&mut bytes, SOCKCLNT_CREATE_REPLY_ID, Envelope::default(), &refusal);
    endpoint.receive(&bytes);
    assert_eq!(endpoint.next_event().map(drop), Err(ProtocolError::ClientRefused { response: -1 }));
}

/// Returns all bytes that VPP sends in a conversation with a reply, a dump and an event.
fn conversation() -> (Batch, Vec<u8>) {
    let mut bytes = Vec::new();
    write_message(&mut bytes, SOCKCLNT_CREATE_REPLY_ID, Envelope::default(), &table(|_| true));
    let mut batch = Batch::new();
    batch.request(BridgeDomainAddDelV2::default());
    batch.dump(MemifDump {});
    let mut send = |id, context, fields: &[u8]| {
        let envelope = Envelope { client_index: 0, context };
        crate::wire::write_frame(&mut bytes, id, Header::Context, envelope, fields);
    };
    send(id::<BridgeDomainAddDelV2Reply>(), 1, &[0; 8]);
    send(id::<SwInterfaceEvent>(), 0, &[0; 13]);
    send(id::<MemifDetails>(), 2, &[0; 101]);
    send(id::<ControlPingReply>(), 3, &[0; 12]);
    (batch, bytes)
}

/// Returns the number of batches that were answered, and the error at the end.
fn converse(bytes: &[u8], pieces: usize) -> (usize, Option<ProtocolError>) {
    let mut endpoint = Endpoint::new();
    let (batch, _) = conversation();
    let mut answered = 0;
    for piece in bytes.chunks(pieces) {
        endpoint.receive(piece);
        loop {
            match endpoint.next_event() {
                Ok(Some(Event::Ready(_))) => drop(endpoint.submit(batch.clone())),
                Ok(Some(Event::Answered { .. })) => answered += 1,
                Ok(Some(Event::InterfaceChanged)) => {}
                Ok(None) => break,
                Err(error) => return (answered, Some(error)),
            }
        }
    }
    (answered, None)
}

proptest::proptest! {
    #[test]
    fn no_change_of_a_conversation_is_a_panic(
        changes in proptest::collection::vec((proptest::prelude::any::<usize>(), proptest::prelude::any::<u8>()), 0..8),
        cut in proptest::prelude::any::<usize>(),
        pieces in 1..6000_usize,
    ) {
        let (_, mut bytes) = conversation();
        assert_eq!(converse(&bytes, pieces), (1, None), "unchanged it is a good one");
        for (at, byte) in changes {
            // Half of the changes are after the table, which has most of the bytes.
            let at = if at % 2 == 0 { at % bytes.len() } else { bytes.len() - 1 - at % 220 };
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut % 100);
        let (answered, _) = converse(&bytes, pieces);
        assert!(answered <= 1, "an answer was counted twice");
    }
}
