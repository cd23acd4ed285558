//! The rules. They are the same for all networks that the node is in: the devices are known by the
//! prefix of their names, so that there is no moment at which a device has no rules.

use crate::model::port::NODE_END_PREFIX;
use crate::nftables::expression::{
    Base, CtKey, MetaKey, Verdict, counter, ct, differs, equals, masked, masquerade, meta, payload, source_route,
    verdict,
};
use crate::nftables::{BaseChain, Batch, ChainHook, ChainKind, Expression, Policy, Table};

/// Tables of others are never changed.
pub(super) const TABLE: Table = Table::inet("usnet-node-access");

/// What pods send to the node, after the kernel knows the connection (priority -200), and before a
/// Service translates it (-100).
const FROM_PODS: &str = "from-pods";
const FROM_PODS_PRIORITY: i32 = -150;
/// What the node forwards to pods, before the chains of others, which may accept it.
const TO_PODS: &str = "to-pods";
const TO_PODS_PRIORITY: i32 = -310;
/// Where other source addresses are chosen, too.
const SOURCES: &str = "sources";
const SOURCES_PRIORITY: i32 = 100;

/// `established` and `related` of the connection's state.
const ESTABLISHED: u32 = 0b110;
/// `IPS_DST_NAT`: its destination was translated.
const TRANSLATED: u32 = 1 << 5;

const IPV6: u8 = 10;
const ICMPV6: u8 = 58;
const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

/// The chains with their rules.
pub(super) fn chains() -> [(BaseChain, Vec<Vec<Expression>>); 3] {
    let chain = |name: &str, hook, priority, kind| BaseChain {
        name: name.to_owned(),
        hook,
        priority,
        policy: Policy::Accept,
        kind,
    };
    let from = |rest: &[Expression]| on(MetaKey::Iifname, rest);
    let to = |rest: &[Expression]| on(MetaKey::Oifname, rest);
    let accept = || verdict(Verdict::Accept);
    let drop = [counter(), verdict(Verdict::Drop)];
    let [state, established, is_established] = has(CtKey::State, ESTABLISHED);
    let known = [state, established, is_established, accept()];
    let [status, translated, is_translated] = has(CtKey::Status, TRANSLATED);
    let neighbour = |kind: u8| {
        from(&[
            meta(MetaKey::Nfproto),
            equals(&[IPV6]),
            meta(MetaKey::L4Proto),
            equals(&[ICMPV6]),
            payload(Base::Transport, 0, 1),
            equals(&[kind]),
            accept(),
        ])
    };
    // IPv6 has no setting of the device for that: a pod must not continue a connection that the
    // node has elsewhere.
    let [is_elsewhere, counted, dropped] = [equals(&[0]), counter(), verdict(Verdict::Drop)];
    let from_pods = vec![
        neighbour(NEIGHBOUR_SOLICITATION),
        neighbour(NEIGHBOUR_ADVERTISEMENT),
        from(&[source_route(), is_elsewhere, counted, dropped]),
        from(&known),
        from(&drop),
    ];
    let to_pods = vec![to(&[status, translated, is_translated, accept()]), to(&known), to(&drop)];
    [
        (chain(FROM_PODS, ChainHook::Prerouting, FROM_PODS_PRIORITY, ChainKind::Filter), from_pods),
        (chain(TO_PODS, ChainHook::Forward, TO_PODS_PRIORITY, ChainKind::Filter), to_pods),
        (chain(SOURCES, ChainHook::Postrouting, SOURCES_PRIORITY, ChainKind::Nat), vec![to(&[masquerade()])]),
    ]
}

/// Everything, in one step for the packets. A table that is there is replaced.
pub(super) fn create() -> Batch {
    let mut batch = delete();
    batch.add_table(TABLE);
    batch.add_chains(TABLE, chains());
    batch
}

/// Nothing is left; there may be nothing.
pub(super) fn delete() -> Batch {
    let mut batch = Batch::default();
    batch.remove_table(TABLE);
    batch
}

/// A rule for what comes or goes over a device of usnet.
fn on(device: MetaKey, rest: &[Expression]) -> Vec<Expression> {
    [&[meta(device), equals(NODE_END_PREFIX.as_bytes())], rest].concat()
}

/// Whether one of these bits is set. The kernel has them in its own byte order.
fn has(key: CtKey, bits: u32) -> [Expression; 3] {
    [ct(key), masked(&bits.to_ne_bytes()), differs(&[0; 4])]
}
