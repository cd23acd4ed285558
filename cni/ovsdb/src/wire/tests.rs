use super::{Decoder, Endpoint, Event, Message, Protocol, WireError};
use crate::reply::ErrorCode;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn decode(pieces: &[&[u8]]) -> Result<Vec<Message>, WireError> {
    let mut decoder = Decoder::default();
    let mut messages = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(message) = decoder.next_message()? {
            messages.push(message);
        }
    }
    Ok(messages)
}

fn message_strategy() -> impl Strategy<Value = Message> {
    // The texts are full of characters that could confuse the search for the end of a message.
    let text = prop::string::string_regex(r#"[{}\[\]"\\\n a-cäł😀\u{0}]{0,12}"#).expect("a pattern").boxed();
    let params =
        prop::collection::vec(prop_oneof![text.clone().prop_map(Json::from), any::<i64>().prop_map(Json::from)], 0..4)
            .prop_map(|atoms| json!([{"nested": atoms}]));
    prop_oneof![
        (any::<u32>(), text, params.clone()).prop_map(|(id, method, params)| Message::Request {
            id: id.into(),
            method,
            params
        }),
        (any::<u32>(), params).prop_map(|(id, result)| Message::Response { id: id.into(), result, error: Json::Null }),
    ]
}

fn encode(message: &Message) -> String {
    match message {
        Message::Request { id, method, params } => json!({"id": id, "method": method, "params": params}).to_string(),
        Message::Response { id, result, error } => json!({"id": id, "result": result, "error": error}).to_string(),
    }
}

proptest! {
    #[test]
    fn messages_do_not_depend_on_how_the_bytes_are_cut(
        messages in prop::collection::vec(message_strategy(), 0..6),
        separator in prop_oneof![Just(""), Just(" \n")],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let stream = messages.iter().map(encode).collect::<Vec<_>>().join(separator);
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(decode(&pieces).expect("messages"), messages);
    }

    #[test]
    fn any_bytes_give_messages_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let whole = decode(&[&bytes]).map_err(|error| error.to_string());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(whole, decode(&single).map_err(|error| error.to_string()));
    }
}

#[test]
fn what_is_not_json_rpc_is_refused() {
    assert!(matches!(decode(&[b"HTTP/1.1 400"]), Err(WireError::NotAnObject { byte: b'H' })));
    assert!(matches!(decode(&[b"{]}"]), Err(WireError::Json(_))));
    let error = decode(&[br#"{"hello": 1}"#]).expect_err("not JSON-RPC");
    assert_eq!(error.to_string(), r#"a message is neither a request nor a response: {"hello": 1}"#);
}

#[test]
fn echo_is_answered_with_its_parameters() {
    let mut endpoint = Endpoint::default();
    endpoint.receive(br#"{"id":"echo","method":"echo","params":["x"]}{"id":7,"method":"steal","params":[]}"#);
    assert_eq!(endpoint.next_event().expect("messages"), None);
    let sent = String::from_utf8(endpoint.outgoing().to_vec()).expect("text");
    let mut answers = serde_json::Deserializer::from_str(&sent).into_iter::<Json>().map(|json| json.expect("JSON"));
    assert_eq!(answers.next(), Some(json!({"id": "echo", "result": ["x"], "error": null})));
    assert_eq!(answers.next(), Some(json!({"id": 7, "result": null, "error": "unknown method steal"})));
}

#[test]
fn responses_find_their_request() {
    let mut endpoint = Endpoint::default();
    let first = endpoint.request("echo", &json!([])).expect("request");
    let second = endpoint.request("transact", &json!(["nowhere"])).expect("request");
    assert_ne!(first, second);
    endpoint
        .receive(br#"{"id":99,"result":1,"error":null}{"id":1,"result":null,"error":{"error":"unknown database"}}"#);
    endpoint.receive(br#"{"id":0,"result":[],"error":null}"#);
    let Some(Event::Response { id, result: Err(error) }) = endpoint.next_event().expect("event") else {
        panic!("the answer to nothing is skipped, the next is an error");
    };
    assert_eq!((id, error.code), (second, ErrorCode::UnknownDatabase));
    let event = endpoint.next_event().expect("event");
    assert_eq!(event, Some(Event::Response { id: first, result: Ok(json!([])) }));
}

#[test]
fn outgoing_bytes_are_sent_in_pieces() {
    let mut endpoint = Endpoint::default();
    endpoint.request("echo", &json!(["one"])).expect("request");
    let whole = endpoint.outgoing().to_vec();
    endpoint.sent(5);
    assert_eq!(endpoint.outgoing(), &whole[5..]);
    endpoint.sent(whole.len() - 5);
    assert_eq!(endpoint.outgoing(), b"");
    endpoint.request("echo", &json!(["two"])).expect("request");
    assert!(String::from_utf8_lossy(endpoint.outgoing()).contains("two"));
}

#[test]
fn request_that_is_not_json_leaves_nothing_behind() {
    let mut endpoint = Endpoint::default();
    // It fails after the beginning is written: a key of an object has to be a text.
    let failing = [std::collections::BTreeMap::from([((1, 2), 3)])];
    assert!(matches!(endpoint.request("transact", &failing), Err(WireError::Json(_))));
    assert_eq!(endpoint.outgoing(), b"");
}
