//! Malformed inputs for the decoders: no panic, and no more memory than the input allows.
//!
//! See the crate `usnet-test-fuzz` for the long form.

use serde_json::json;
use usnet_ovsdb::wire::{Endpoint, Event, Protocol};
use usnet_ovsdb::{Cache, monitor, schema};
use usnet_test_fuzz::{FuzzRun, Parsed, Random};

/// Inputs of the short form: enough to make each kind of change to each seed many times, in about a
/// second.
const INPUTS: u64 = 100_000;
/// The limit of the decoders' memory for each byte of input. JSON is a tree in memory: `{"":0}`
/// takes a node of a map, which has room for eleven members.
const BYTES_PER_BYTE: usize = 256;
/// The limit of the decoders' memory for any input.
const BYTES_AT_LEAST: usize = 8 << 10;

const UUID: &str = "550e8400-e29b-41d4-a716-446655440000";

/// Returns messages of a database: answers to request 0, updates, an error, a request.
fn seeds() -> Vec<Vec<u8>> {
    let bridge = json!({"name": "br0", "ports": ["set", [["uuid", UUID]]], "external_ids": ["map", [["k", "v"]]]});
    let port = json!({"name": "p0", "tag": 7, "trunks": ["set", [1, 2]], "interfaces": ["uuid", UUID]});
    let interface = json!({"name": "p0", "ofport": -1, "mtu": ["set", []], "error": "no \"such\" \u{e9}\\device"});
    // Each message is short and has one row: the time is proportional to the bytes, and more rows
    // would test nothing more.
    let messages = [
        json!({"id": 0, "result": [false, "", {"Bridge": {UUID: {"initial": bridge}}}], "error": null}),
        json!({"id": 0, "result": [false, "", {"Interface": {UUID: {"initial": interface}}}], "error": null}),
        json!({"method": "update3", "params": ["", "", {"Port": {UUID: {"insert": port}}}], "id": null}),
        json!({"method": "update3", "params": ["", "", {"Port": {UUID: {"modify": port}}}], "id": null}),
        json!({"method": "update3", "params": ["", "", {"Port": {UUID: {"delete": null}}}], "id": null}),
        json!({"id": 0, "result": [{"uuid": ["uuid", UUID]}, {"count": 1}], "error": null}),
        json!({"id": 0, "result": null, "error": {"error": "unknown database", "details": "d", "syntax": "s"}}),
        json!({"id": "echo", "method": "echo", "params": [1.5, -3e10, true, null]}),
        json!({"id": null, "method": "monitor_canceled", "params": ["usnet"]}),
    ];
    messages.iter().map(|message| message.to_string().into_bytes()).collect()
}

/// Fragments of JSON and of OVSDB's notation, inserted at random positions.
const PARTS: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\\",
    ",",
    ":",
    "[[[[[[[[",
    "{\"a\":{\"b\":",
    "\\ud800",
    "\\u0000",
    "null",
    "true",
    "-",
    "1e999",
    "-1",
    "18446744073709551616",
    "9223372036854775808",
    "0.1",
    "[\"set\",[",
    "[\"map\",[[",
    "[\"uuid\",",
    "\"set\"",
    "\"named-uuid\"",
    "\"modify\"",
    "\"initial\"",
    "\"Bridge\"",
    "{}",
    "[]",
    "\"\"",
    "\u{fffd}",
];

fn malform(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(seeds).clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => {
                let byte = random.byte();
                bytes.iter_mut().skip(at).take(1).for_each(|old| *old = byte);
            }
            2..=4 => {
                // A few bytes are replaced, or bytes are inserted.
                let end = bytes.len().min(at + random.below(4));
                drop(bytes.splice(at.min(end)..end, random.pick(PARTS).bytes()));
            }
            5 => {
                // A part of the message is repeated, so that whole values get to other places.
                let end = bytes.len().min(at + random.below(40));
                let part: Vec<u8> = bytes.get(at..end).unwrap_or_default().to_vec();
                let to = random.below(bytes.len());
                drop(bytes.splice(to..to, part));
            }
            _ => bytes.extend(random.pick(seeds)),
        }
    }
    bytes
}

fn input(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    match random.below(100) {
        0 => (0..random.below(256)).map(|_| random.byte()).collect(),
        // This is deeper than any value of a database; the stack must suffice for it.
        1 => {
            let depth = random.below(300);
            let (open, close) = *random.pick(&[("[", "]"), ("{\"a\":", "}"), ("{\"a\":[", "]}")]);
            format!("{{\"id\":0,\"result\":{}0{}}}", open.repeat(depth), close.repeat(depth)).into_bytes()
        }
        _ => malform(random, seeds),
    }
}

/// Handles bytes as a session does. Returns the number of decoded events.
fn decode(bytes: &[u8], pieces: usize, waiting: &mut Endpoint) -> usize {
    let mut cache = Cache::new(&schema::TABLES);
    let mut events = 0;
    for piece in bytes.chunks(pieces) {
        waiting.receive(piece);
        while let Ok(Some(event)) = waiting.next_event() {
            events += 1;
            let updates = match event {
                Event::Response { result: Ok(result), .. } => monitor::parse_reply(&result),
                Event::Notification { params, .. } => monitor::parse_update(&params),
                Event::Response { result: Err(_), .. } => continue,
            };
            // A partially applied update must leave the cache readable.
            if let Ok(updates) = updates {
                let _refused = cache.apply(updates);
                let _malformed = (cache.bridges(), cache.ports(), cache.interfaces(), cache.open_vswitch());
            }
        }
    }
    events
}

#[test]
fn malformed_inputs_neither_panic_nor_allocate_much() {
    let seeds = seeds();
    let mut lengths = Random::new(0);
    FuzzRun::new("OVSDB", INPUTS).run(
        |random| input(random, &seeds),
        |bytes| {
            // The pieces have any length, as if they came from a socket.
            let pieces = 1 + lengths.below(bytes.len());
            let mut events = 0;
            // Only this test's thread is measured.
            let memory = allocation_counter::measure(|| {
                let mut waiting = Endpoint::default();
                waiting.request("transact", &()).expect("JSON");
                events = decode(bytes, pieces, &mut waiting);
            });
            let (used, length) = (memory.bytes_max, bytes.len());
            let limit = BYTES_AT_LEAST + BYTES_PER_BYTE * length;
            assert!(used <= u64::try_from(limit).expect("64 bits"), "{used} bytes for {length} of input");
            if events > 0 { Parsed::Accepted } else { Parsed::Rejected }
        },
    );
}
