//! The client's end of a connection.

/// The client's end of a connection. It does no IO: a socket writes its outgoing bytes, and passes
/// it the bytes that were read.
pub trait Protocol {
    /// Returns the bytes to write next.
    fn outgoing(&self) -> &[u8];

    /// Reports that the first `bytes` of [`Self::outgoing`] were written.
    fn sent(&mut self, bytes: usize);

    /// Adds bytes that were read.
    fn receive(&mut self, bytes: &[u8]);
}

/// Bytes that wait until the socket can take them.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "a request may contain a secret")]
pub struct Outgoing {
    bytes: Vec<u8>,
    /// The number of `bytes` that were written.
    written: usize,
}

impl Outgoing {
    /// Returns the bytes that were not yet written.
    #[must_use]
    pub fn unsent(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// Returns the buffer, to append the next request to.
    pub fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Reports that the first `bytes` of [`Self::unsent`] were written.
    pub fn sent(&mut self, bytes: usize) {
        self.written = self.bytes.len().min(self.written + bytes);
        // The rest is moved only once at least half was written, so that each byte is moved at most
        // once on average.
        if self.written * 2 >= self.bytes.len() {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Outgoing;

    #[test]
    fn bytes_are_sent_in_pieces_while_more_are_added() {
        let mut outgoing = Outgoing::default();
        let mut received = Vec::new();
        for number in 0..100_u8 {
            outgoing.end().extend([number; 7]);
            let piece = outgoing.unsent().get(..5).expect("seven were added").to_vec();
            outgoing.sent(piece.len());
            received.extend(piece);
        }
        received.extend(outgoing.unsent());
        outgoing.sent(usize::from(u16::MAX));
        assert_eq!(outgoing.unsent(), b"", "more than there is counts as all");
        assert_eq!(received, (0..100_u8).flat_map(|number| [number; 7]).collect::<Vec<u8>>());
    }
}
