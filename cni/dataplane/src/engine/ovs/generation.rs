//! Flows by which a bridge forgets how it has forwarded packets so far. Pure.
//!
//! The switch keeps what its flows say of packets as flows of the datapath, with masks of what they
//! depend on, and after a change of flows it gives those new actions. Open vSwitch before 3.1.3,
//! like Debian's 3.1.0, gives them to another one if two overlap, and then takes the first for
//! right as long as packets use it (`dpif-netdev: Fix dpif_netdev_flow_put`): packets pass that
//! policies refuse, or are dropped that they allow. Before 3.3 the same happens to a flow of the
//! datapath that another thread is about to install (`ofproto-dpif-upcall: Fix push_dp_ops`).
//!
//! A flow of the datapath whose mask lacks what its packets depend on is deleted instead, by its
//! identity. So each change of flows comes with other bits of a field that is 0 in all packets,
//! which are compared first: all flows of the datapath that are about the bridge lack them.

use super::policy;
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use usnet_openflow::flow::{Action, Cookie, CookieFilter, Flow, Masked, Match};
use usnet_openflow::{FlowMod, InstalledFlow};

/// The first bits of the cookies of these flows.
const MARK: u16 = 0x7567;
/// Where packets begin, and where they go on when their connection was looked up: for the datapath
/// these are two packets.
const TABLES: [u8; 2] = [0, policy::CONNECTION];
/// All of them have this one: the switch finds flows with exactly one cookie without looking at all
/// others, of which there are thousands.
const COOKIE: Cookie = Cookie((MARK as u64) << 48);
/// Before all other flows.
const PRIORITY: u16 = u16::MAX;
/// How many of 32 bits are compared. Sets of as many bits do not contain each other; there are ten
/// million of them, and the masks of several ones together still lack some bit of the next.
const BITS: u32 = 8;

/// A state of the flows of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Generation(u32);

impl Generation {
    fn of(mut random: u64) -> Self {
        let mut bits = 0_u32;
        while bits.count_ones() < BITS {
            // Knuth's constants for 64 bits: each value of the upper bits comes at some time.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bits |= 1 << (random >> 59);
        }
        Self(bits)
    }

    /// They match no packet.
    fn flows(self) -> impl Iterator<Item = Flow> {
        TABLES.into_iter().map(move |table| {
            let matches = Match { packet_mark: Some(Masked::new(self.0, self.0)), ..Match::default() };
            Flow { table, priority: PRIORITY, cookie: COOKIE, matches, action: Action::Drop }
        })
    }
}

/// The changes to be made in the bundle of all others, by which no flow of the datapath stays.
#[must_use]
pub fn renewal() -> Vec<FlowMod> {
    renewal_of(CookieFilter::of(COOKIE))
}

/// The same for a bridge that may have such flows of an earlier version, with other cookies.
pub(super) fn first_renewal() -> Vec<FlowMod> {
    renewal_of(CookieFilter::of_mark(MARK))
}

fn renewal_of(former: CookieFilter) -> Vec<FlowMod> {
    let next = Generation::of(RandomState::new().build_hasher().finish());
    std::iter::once(FlowMod::DeleteCookies(former)).chain(next.flows().map(FlowMod::Add)).collect()
}

/// Takes these flows out of those that a bridge has, and returns how many of them are wrong or
/// missing.
pub(super) fn take_from(installed: &mut Vec<InstalledFlow>) -> usize {
    let found = installed.extract_if(.., |flow| flow.cookie.mark() == MARK);
    let is_right =
        |flow: &InstalledFlow| flow.cookie == COOKIE && flow.priority == PRIORITY && flow.instructions.is_drop();
    let (right, wrong): (Vec<_>, Vec<_>) = found.partition(is_right);
    let tables: BTreeSet<u8> = right.into_iter().map(|flow| flow.table).collect();
    wrong.len() + TABLES.iter().filter(|table| !tables.contains(table)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_generation_has_the_bits_of_another_one() {
        let all: Vec<u32> = (0..1_000).map(|random| Generation::of(random).0).collect();
        assert!(all.iter().all(|bits| bits.count_ones() == BITS));
        let is_within = |(one, other): (usize, usize)| all[one] & !all[other] == 0;
        assert!((0..1_000).all(|one| (0..one).all(|other| !is_within((one, other)))));
    }

    #[test]
    fn a_renewal_replaces_the_flows_before_by_ones_that_match_no_packet() {
        let [first, second] = [renewal(), renewal()];
        assert_ne!(first, second);
        let [FlowMod::DeleteCookies(cookies), added @ ..] = first.as_slice() else { panic!("{first:?}") };
        assert_eq!((*cookies, added.len()), (CookieFilter::of(COOKIE), TABLES.len()));
        assert_eq!(first_renewal()[0], FlowMod::DeleteCookies(CookieFilter::of_mark(MARK)));
        let mut installed: Vec<InstalledFlow> = added.iter().map(installed).collect();
        let other = InstalledFlow { cookie: Cookie(7), ..installed[0].clone() };
        let earlier = InstalledFlow { cookie: Cookie(COOKIE.0 + 7), ..installed[0].clone() };
        assert_eq!(take_from(&mut vec![earlier, installed[1].clone()]), 2, "one is of an earlier version");
        installed.push(other.clone());
        assert_eq!((take_from(&mut installed), &installed), (0, &vec![other.clone()]));
        assert_eq!((take_from(&mut installed), &installed), (2, &vec![other]));
    }

    fn installed(change: &FlowMod) -> InstalledFlow {
        let FlowMod::Add(Flow { table, priority, cookie, matches, action }) = change else { panic!("{change:?}") };
        assert!(!matches.packet_mark.unwrap().matches(0));
        let (matches, instructions) = (matches.encode(), action.encode());
        let (table, priority, cookie) = (*table, *priority, *cookie);
        InstalledFlow { table, priority, cookie, matches, instructions, packets: 0, bytes: 0 }
    }
}
