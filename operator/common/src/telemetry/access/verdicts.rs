//! The last answers of the API server, for a time: those that allow by token, and those that refuse
//! by peer, so that a client which tries tokens neither replaces the answers for scrapers nor keeps
//! the API server busy. Tokens are known by their digest alone. Pure.

use super::reviewer::Review;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a client may still read metrics after its permission was revoked.
const ALLOWED: Duration = Duration::from_secs(60);
/// How long a peer has to wait after a refusal.
const REFUSED: Duration = Duration::from_secs(1);
/// The number of answers of each sort that are kept; the oldest is dropped first.
const LIMIT: usize = 128;

/// The digest of a path and a token.
type Key = [u8; 32];

/// An answer that needs no request to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// The API server has answered this before.
    Reviewed(Review),
    /// Another token of this peer was refused a moment ago.
    Wait,
}

#[derive(Debug, Default)]
pub(super) struct Verdicts {
    allowed: VecDeque<(Key, Instant)>,
    refused: VecDeque<(IpAddr, Key, Review, Instant)>,
}

impl Verdicts {
    pub(super) fn known(&self, peer: IpAddr, key: &Key, now: Instant) -> Option<Known> {
        let is_recent = |at: Instant, limit| now.saturating_duration_since(at) < limit;
        if self.allowed.iter().any(|(allowed, at)| allowed == key && is_recent(*at, ALLOWED)) {
            return Some(Known::Reviewed(Review::Allowed));
        }
        let mut refused = self.refused.iter().filter(|(other, .., at)| *other == peer && is_recent(*at, REFUSED));
        refused
            .next_back()
            .map(|(_, other, review, _)| if other == key { Known::Reviewed(*review) } else { Known::Wait })
    }

    pub(super) fn add(&mut self, peer: IpAddr, key: Key, review: Review, now: Instant) {
        self.allowed.retain(|(allowed, _)| *allowed != key);
        match review {
            Review::Allowed => push(&mut self.allowed, (key, now)),
            Review::NotAuthenticated | Review::NotAllowed => {
                self.refused.retain(|(other, ..)| *other != peer);
                push(&mut self.refused, (peer, key, review, now));
            }
        }
    }
}

fn push<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() >= LIMIT {
        entries.pop_front();
    }
    entries.push_back(entry);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn what_is_allowed_counts_for_a_minute_wherever_the_token_comes_from() {
        let (mut verdicts, start) = (Verdicts::default(), Instant::now());
        verdicts.add(PEER, [1; 32], Review::Allowed, start);
        for peer in [PEER, OTHER] {
            let last = start + ALLOWED - Duration::from_millis(1);
            assert_eq!(verdicts.known(peer, &[1; 32], last), Some(Known::Reviewed(Review::Allowed)));
            assert_eq!(verdicts.known(peer, &[1; 32], start + ALLOWED), None);
            assert_eq!(verdicts.known(peer, &[2; 32], start), None);
        }
        verdicts.add(PEER, [1; 32], Review::NotAllowed, start);
        assert_eq!(verdicts.known(OTHER, &[1; 32], start), None, "it was taken away");
        const { assert!(ALLOWED.as_secs() <= 60) };
    }

    #[test]
    fn a_refused_peer_waits_a_second_and_no_other_does() {
        let (mut verdicts, start) = (Verdicts::default(), Instant::now());
        verdicts.add(PEER, [1; 32], Review::NotAuthenticated, start);
        assert_eq!(verdicts.known(PEER, &[1; 32], start), Some(Known::Reviewed(Review::NotAuthenticated)));
        assert_eq!(verdicts.known(PEER, &[2; 32], start), Some(Known::Wait));
        assert_eq!(verdicts.known(OTHER, &[2; 32], start), None);
        assert_eq!(verdicts.known(PEER, &[2; 32], start + REFUSED), None);
        verdicts.add(OTHER, [3; 32], Review::Allowed, start);
        assert_eq!(verdicts.known(PEER, &[3; 32], start), Some(Known::Reviewed(Review::Allowed)), "behind one NAT");
    }

    #[test]
    fn there_are_never_many_and_refusals_replace_no_scraper() {
        let (mut verdicts, start) = (Verdicts::default(), Instant::now());
        verdicts.add(PEER, [0; 32], Review::Allowed, start);
        for number in 0..1000_u32 {
            let mut key = [9; 32];
            key[..4].copy_from_slice(&number.to_be_bytes());
            let peer = IpAddr::V4(Ipv4Addr::from_bits(number));
            verdicts.add(peer, key, Review::NotAllowed, start);
        }
        assert_eq!(verdicts.refused.len(), LIMIT);
        assert_eq!(verdicts.known(PEER, &[0; 32], start), Some(Known::Reviewed(Review::Allowed)));
        for number in 0..1000_u32 {
            let mut key = [8; 32];
            key[..4].copy_from_slice(&number.to_be_bytes());
            verdicts.add(PEER, key, Review::Allowed, start);
        }
        assert_eq!(verdicts.allowed.len(), LIMIT);
    }
}
