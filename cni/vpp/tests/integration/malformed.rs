//! Malformed inputs for the decoders: no panic, and no more memory than the input allows.
//!
//! See the crate `usnet-test-fuzz` for the long form.

use usnet_test_fuzz::{FuzzRun, Input, Parsed, Random};
use usnet_vpp::wire::{DecodeError, Envelope, FrameDecoder, Header, Reader, read_envelope, write_frame};
use usnet_vpp::{Descriptor, messages};

/// Inputs of the short form: enough to make each kind of change to each seed many times, in about a
/// second.
const INPUTS: u64 = 100_000;
/// The limit of a decoder's memory for each byte of input: a text with invalid bytes grows
/// threefold, and the frame, its copy and the result of encoding it again exist at the same time.
const BYTES_PER_BYTE: usize = 8;
/// The limit of a decoder's memory for any input.
const BYTES_AT_LEAST: usize = 1024;

/// A frame with a message whose id is its index in the table.
struct Seed {
    bytes: Vec<u8>,
    descriptor: &'static Descriptor,
}

/// Returns a valid frame of each message, once empty and once with texts and array elements.
fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for descriptor in messages::all() {
        let shortest = (0..1024).map(|size| vec![0; size]).find(|fields| (descriptor.recode)(fields).is_ok());
        let shortest = shortest.expect("no message of the table has more than 1024 bytes");
        // If a message has a length or a count, it is the last thing in its shortest form.
        let mut longer = shortest.clone();
        if let Some(last) = longer.last_mut() {
            *last = 3;
        }
        // This suffices for three of the largest elements, which are the paths of a route.
        longer.extend(b"abc".iter().cycle().take(600));
        for fields in [shortest, longer] {
            let mut bytes = Vec::new();
            write_frame(&mut bytes, 1, descriptor.header, Envelope { client_index: 1, context: 2 }, &fields);
            (descriptor.recode)(&fields).expect("a seed is well formed");
            seeds.push(Seed { bytes, descriptor });
        }
    }
    seeds
}

fn malform(random: &mut Random, seed: &Seed) -> Vec<u8> {
    let mut bytes = seed.bytes.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), random.byte()),
            2 => bytes.extend((0..random.below(64)).map(|_| random.byte())),
            // These numbers break arithmetic where a length or a count may be.
            3 => {
                let extremes = [u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) - 1, 1 << 24, 1 << 16, 0, 1];
                let number = extremes.get(random.below(extremes.len())).expect("in range").to_be_bytes();
                bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.byte();
                }
            }
        }
    }
    bytes
}

/// The input of a decoder.
struct Frames {
    bytes: Vec<u8>,
    /// The length of the pieces in which the bytes arrive.
    pieces: usize,
    /// The message as which the bytes are decoded.
    descriptor: &'static Descriptor,
}

impl Input for Frames {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Most inputs are changed seeds, with or without their frame's header; some are noise.
fn input(random: &mut Random, seeds: &[Seed]) -> Frames {
    let seed = random.pick(seeds);
    let bytes: Vec<u8> = match random.below(10) {
        0 => (0..random.below(256)).map(|_| random.byte()).collect(),
        1..=5 => {
            // The frame is valid and the message is not, so that the input reaches the message's
            // decoder.
            let message = malform(random, seed);
            let fields = message.get(26..).unwrap_or_default();
            let mut frame = Vec::new();
            write_frame(&mut frame, 1, seed.descriptor.header, Envelope::default(), fields);
            frame
        }
        _ => malform(random, seed),
    };
    let pieces = 1 + random.below(bytes.len());
    Frames { bytes, pieces, descriptor: seed.descriptor }
}

/// Decodes bytes as a client does. Returns the number of messages that were well formed
/// nevertheless.
fn decode(bytes: &[u8], pieces: usize, descriptor: &Descriptor) -> usize {
    let mut decoder = FrameDecoder::default();
    let mut well_formed = 0;
    for piece in bytes.chunks(pieces) {
        decoder.receive(piece);
        while let Ok(Some(message)) = decoder.next_message() {
            well_formed += usize::from(decode_message(descriptor.header, &message, descriptor).is_ok());
        }
    }
    well_formed
}

fn decode_message(header: Header, message: &[u8], descriptor: &Descriptor) -> Result<(), DecodeError> {
    let mut reader = Reader::new(message);
    read_envelope(header, &mut reader)?;
    let fields = reader.take(reader.left())?;
    (descriptor.recode)(fields).map(drop)
}

#[test]
fn malformed_inputs_neither_panic_nor_allocate_much() {
    let seeds = seeds();
    FuzzRun::new("VPP", INPUTS).run(
        |random| input(random, &seeds),
        |Frames { bytes, pieces, descriptor }| {
            let mut well_formed = 0;
            // Only this test's thread is measured.
            let memory = allocation_counter::measure(|| well_formed = decode(bytes, *pieces, descriptor));
            let (name, used, length) = (descriptor.name, memory.bytes_max, bytes.len());
            let limit = BYTES_AT_LEAST + BYTES_PER_BYTE * length;
            assert!(used <= u64::try_from(limit).expect("64 bits"), "{name}: {used} bytes for {length} of input");
            if well_formed > 0 { Parsed::Accepted } else { Parsed::Rejected }
        },
    );
}
