use super::{
    Envelope, Field, FixedText, FrameDecoder, FrameError, Header, Reader, Secret, Text, TextError, Writer,
    read_envelope, write_frame, write_message,
};
use crate::messages::{BridgeDomainDetails, BridgeDomainSwIf, MemifCreateV2, MemifRole, SwInterfaceSetFlags};

fn encoded(field: &impl Field) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.field(field);
    writer.into_bytes()
}

fn decoded<F: Field>(bytes: &[u8]) -> F {
    Reader::new(bytes).field("field").expect("long enough")
}

#[test]
fn frame_is_header_id_envelope_and_fields() {
    let mut frame = Vec::new();
    let envelope = Envelope { client_index: 0x8000_0001, context: 7 };
    write_frame(&mut frame, 0x0203, Header::ClientAndContext, envelope, &[9]);
    let header = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 0];
    assert_eq!(frame[..16], header);
    assert_eq!(frame[16..], [2, 3, 0x80, 0, 0, 1, 0, 0, 0, 7, 9]);
    for (header, rest) in [(Header::Context, [0, 0, 0, 7]), (Header::Client, [0x80, 0, 0, 1])] {
        let mut frame = Vec::new();
        write_frame(&mut frame, 1, header, envelope, &[]);
        assert_eq!(frame[18..], rest);
        let (id, read) = read_envelope(header, &mut Reader::new(&frame[16..])).expect("an envelope");
        assert_eq!((id, read.context + read.client_index), (1, u32::from_be_bytes(rest)));
    }
}

#[test]
fn messages_do_not_depend_on_where_reads_end() {
    let mut stream = Vec::new();
    write_frame(&mut stream, 1, Header::Context, Envelope::default(), b"first");
    stream.extend([0; 16]);
    write_message(&mut stream, 2, Envelope::default(), &SwInterfaceSetFlags::default());
    for size in 1..=stream.len() {
        let mut decoder = FrameDecoder::default();
        let mut messages = Vec::new();
        for chunk in stream.chunks(size) {
            decoder.receive(chunk);
            while let Some(message) = decoder.next_message().expect("a stream") {
                messages.push(message);
            }
        }
        let lengths: Vec<usize> = messages.iter().map(Vec::len).collect();
        assert_eq!(lengths, [11, 18], "in pieces of {size} bytes");
        assert_eq!(messages[0][6..], *b"first");
    }
}

#[test]
fn announced_length_is_bounded() {
    let mut decoder = FrameDecoder::default();
    decoder.receive(b"HTTP/1.1 400 Bad Request");
    assert_eq!(decoder.next_message(), Err(FrameError::TooLong { length: u32::from_be_bytes(*b" 400") }));
    assert!(decoder.next_message().is_err(), "the stream cannot be used any more");
}

#[test]
fn fixed_text_rejects_what_vpp_would_truncate() {
    assert_eq!(FixedText::<4>::new("four"), Err(TextError::TooLong { length: 4, limit: 3 }));
    assert_eq!(FixedText::<4>::new("a\0b"), Err(TextError::Nul { position: 1 }));
    let text = FixedText::<4>::new("abc").expect("fits");
    assert_eq!(encoded(&text), b"abc\0");
    assert_eq!(FixedText::<64>::new("x".repeat(63)).map(|text| encoded(&text).len()), Ok(64));
}

#[test]
fn text_from_vpp_is_accepted_unchanged() {
    assert_eq!(decoded::<FixedText<6>>(b"ab\0cd\0").as_str(), "ab");
    assert_eq!(decoded::<FixedText<3>>(b"abc").as_str(), "abc");
    let replaced = decoded::<FixedText<3>>(b"\xff\xffc");
    assert_eq!(replaced.as_str(), "\u{fffd}\u{fffd}c");
    assert_eq!(encoded(&replaced).len(), 3);
    assert_eq!(encoded(&Text::from("show")), b"\0\0\0\x04show");
    assert_eq!(decoded::<Text>(b"\0\0\0\x02\xffx").as_str(), "\u{fffd}x");
}

#[test]
fn lengths_are_validated() {
    let text = Reader::new(b"\xff\xff\xff\xffxy").field::<Text>("cmd").expect_err("no such length");
    assert_eq!(text.to_string(), "the message is too short: cmd needs 4294967295 more bytes, 2 are left");
    let members = Reader::new(b"\xff\xff\xff\xff\0\0\0\0").field::<Vec<BridgeDomainSwIf>>("sw_if_details");
    assert_eq!(members.map_err(|error| (error.needed, error.left)), Err((9 * 0xffff_ffff, 4)));
}

#[test]
fn unknown_number_of_an_enum_is_kept() {
    let role: MemifRole = decoded(&[0, 0, 1, 0]);
    assert_eq!(role, MemifRole::Other(256));
    assert_eq!(encoded(&role), [0, 0, 1, 0]);
    assert_eq!(encoded(&MemifRole::Slave), [0, 0, 0, 1]);
    assert!(decoded::<bool>(&[2]));
}

#[test]
fn secret_is_sent_and_never_printed() {
    let secret = Secret::new("hunter2").expect("fits");
    let create = MemifCreateV2 { secret: secret.clone(), ..MemifCreateV2::default() };
    assert_eq!(encoded(&secret)[..8], *b"hunter2\0");
    assert!(!format!("{create:?}").contains("hunter2"), "{create:?}");
    let mut batch = crate::Batch::new();
    batch.request(create);
    assert_eq!(format!("{batch:?}"), r#"["memif_create_v2"]"#);
    let error = Secret::new("hunter2".repeat(4)).expect_err("too long");
    assert!(!format!("{error:?} {error}").contains("hunter2"));
}

#[test]
fn counted_array_comes_back() {
    let members = vec![BridgeDomainSwIf { context: 0, sw_if_index: 5, shg: 1 }; 3];
    let details = BridgeDomainDetails { bd_id: 4, sw_if_details: members, ..BridgeDomainDetails::default() };
    let mut writer = Writer::default();
    crate::Message::encode(&details, &mut writer);
    let bytes = writer.into_bytes();
    assert_eq!(bytes.len(), 93 - 6 + 3 * 9);
    assert_eq!(crate::Message::decode(&mut Reader::new(&bytes)), Ok(details));
}
