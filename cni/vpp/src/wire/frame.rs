//! Frames: the stream is divided into messages.

/// The longest accepted message, in bytes. The longest message of VPP is its message table, 91 kB;
/// the replies of `cli_inband` can be longer. The limit protects from a peer that is not VPP, whose
/// bytes could announce up to 4 GiB.
pub const MAX_MESSAGE: usize = 16 << 20;

/// The size of the header of a frame.
pub(crate) const FRAME_HEADER: usize = 16;

/// The stream does not come from VPP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No message of VPP has this length.
    #[error(
        "the peer announced a message of {length} bytes, longer than any message of VPP; is another program listening on the socket?"
    )]
    TooLong {
        /// The announced length, in bytes.
        length: u32,
    },
}

/// Collects received bytes and returns messages. It buffers no more than was received.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "a message may hold a secret")]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that belong to returned messages.
    taken: usize,
}

impl FrameDecoder {
    pub fn receive(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete message without its frame header. Empty ones are skipped, as by
    /// VPP. After an error the stream cannot be used.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        while let Some((header, rest)) = self.buffer.get(self.taken..).and_then(<[u8]>::split_first_chunk) {
            let length = announced_length(header)?;
            let Some(message) = rest.get(..length) else { return Ok(None) };
            if length > 0 && self.taken == 0 && rest.len() == length {
                // The message is not copied: the message table would be twice in memory.
                let mut message = std::mem::take(&mut self.buffer);
                message.drain(..FRAME_HEADER);
                return Ok(Some(message));
            }
            self.taken += FRAME_HEADER + length;
            if length > 0 {
                return Ok(Some(message.to_vec()));
            }
        }
        Ok(None)
    }
}

/// The length of the message behind the header of a frame.
pub(crate) fn announced_length(header: &[u8; FRAME_HEADER]) -> Result<usize, FrameError> {
    let [_, _, _, _, _, _, _, _, length @ .., _, _, _, _] = *header;
    let length = u32::from_be_bytes(length);
    usize::try_from(length).ok().filter(|length| *length <= MAX_MESSAGE).ok_or(FrameError::TooLong { length })
}
