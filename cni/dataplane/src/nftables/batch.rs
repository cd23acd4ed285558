//! Changes that the kernel makes together.

use super::{Expression, Table};
use netlink_packet_core::{NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE};
use netlink_packet_netfilter::nftables::{
    ChainAttribute, ChainMessage, DataAttribute, Hook, HookNumber, ListAttribute, NfTablesMessage, RuleAttribute,
    RuleMessage, SetAttribute, SetElementAttribute, SetElementList, SetElementMessage, SetMessage, TableAttribute,
    TableMessage,
};
use netlink_packet_netfilter::none::ControlMessage;
use netlink_packet_netfilter::{NetfilterHeader, NetfilterMessage, NetfilterProtoFamily};

const NFNL_SUBSYS_NFTABLES: u16 = 10;
/// Elements in one message: the kernel's answer to a message that it rejects contains it, and has
/// to fit into a datagram.
const ELEMENTS_MAX: usize = 512;

/// Where the kernel evaluates a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainHook {
    /// All frames that a device receives, after packet sockets got them. In a table of family
    /// netdev.
    Ingress { device: String },
    /// Packets before a route is looked up.
    Prerouting,
    /// Packets to the node itself.
    Input,
    /// Packets that the node forwards.
    Forward,
    /// Packets that the node sends.
    Output,
    /// Packets that leave, sent and forwarded ones.
    Postrouting,
}

impl ChainHook {
    fn number(&self) -> u32 {
        match self {
            Self::Ingress { .. } | Self::Prerouting => 0,
            Self::Input => 1,
            Self::Forward => 2,
            Self::Output => 3,
            Self::Postrouting => 4,
        }
    }
}

/// What becomes of a packet that no rule decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Policy {
    Drop = 0,
    Accept = 1,
}

/// What the rules of a chain may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainKind {
    Filter,
    /// They translate addresses of the first packet of each connection.
    Nat,
}

impl ChainKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Nat => "nat",
        }
    }
}

/// A chain that the kernel evaluates itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseChain {
    /// Its name in the table.
    pub name: String,
    pub hook: ChainHook,
    /// Chains of a lower number come first.
    pub priority: i32,
    /// What becomes of other packets.
    pub policy: Policy,
    pub kind: ChainKind,
}

/// What the elements of a set are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// Addresses of IPv4.
    Ipv4,
    /// Addresses of IPv6.
    Ipv6,
    /// Other bytes, of this number.
    Bytes(u32),
}

impl KeyType {
    /// The number by which the program `nft` prints elements, and the length.
    const fn number_and_length(self) -> (u32, u32) {
        match self {
            Self::Ipv4 => (7, 4),
            Self::Ipv6 => (8, 16),
            Self::Bytes(length) => (0, length),
        }
    }
}

/// Changes in order. What is added may exist already, except for rules, which are appended.
#[derive(Debug, Default)]
pub struct Batch {
    messages: Vec<(NetfilterMessage, u16)>,
}

impl Batch {
    pub fn add_table(&mut self, table: Table) {
        let attributes = vec![TableAttribute::Name(table.name.to_owned())];
        self.push(table, NfTablesMessage::NewTable(TableMessage { attributes }), NLM_F_CREATE);
    }

    /// Deletes a table with all that it contains, if it exists.
    pub fn remove_table(&mut self, table: Table) {
        self.add_table(table);
        self.delete_table(table);
    }

    /// Creates chains with their rules.
    pub fn add_chains(&mut self, table: Table, chains: impl IntoIterator<Item = (BaseChain, Vec<Vec<Expression>>)>) {
        for (chain, rules) in chains {
            self.add_chain(table, &chain);
            rules.into_iter().for_each(|rule| self.add_rule(table, &chain.name, rule));
        }
    }

    /// Deletes a table with all that it contains.
    pub fn delete_table(&mut self, table: Table) {
        let attributes = vec![TableAttribute::Name(table.name.to_owned())];
        self.push(table, NfTablesMessage::DeleteTable(TableMessage { attributes }), 0);
    }

    /// Creates a chain, or changes its policy.
    pub fn add_chain(&mut self, table: Table, chain: &BaseChain) {
        // A priority is a signed number in two's complement.
        let mut hook = vec![
            Hook::Number(HookNumber::Other(chain.hook.number())),
            Hook::Priority(u32::from_ne_bytes(chain.priority.to_ne_bytes())),
        ];
        if let ChainHook::Ingress { device } = &chain.hook {
            hook.push(Hook::NetDeviceName(device.clone()));
        }
        let attributes = vec![
            ChainAttribute::Table(table.name.to_owned()),
            ChainAttribute::Name(chain.name.clone()),
            ChainAttribute::Hook(hook),
            ChainAttribute::Policy(chain.policy as u32),
            ChainAttribute::Type(chain.kind.name().to_owned()),
        ];
        self.push(table, NfTablesMessage::NewChain(ChainMessage { attributes }), NLM_F_CREATE);
    }

    /// Deletes a chain and its rules.
    pub fn delete_chain(&mut self, table: Table, chain: &str) {
        let attributes = vec![ChainAttribute::Table(table.name.to_owned()), ChainAttribute::Name(chain.to_owned())];
        self.push(table, NfTablesMessage::DeleteChain(ChainMessage { attributes }), 0);
    }

    pub fn add_rule(&mut self, table: Table, chain: &str, expressions: Vec<Expression>) {
        let attributes = vec![
            RuleAttribute::Table(table.name.to_owned()),
            RuleAttribute::Chain(chain.to_owned()),
            RuleAttribute::Expressions(expressions.into_iter().map(Into::into).collect()),
        ];
        self.push(table, NfTablesMessage::NewRule(RuleMessage { attributes }), NLM_F_CREATE | NLM_F_APPEND);
    }

    /// Deletes the rules of a chain.
    pub fn flush_chain(&mut self, table: Table, chain: &str) {
        let attributes = vec![RuleAttribute::Table(table.name.to_owned()), RuleAttribute::Chain(chain.to_owned())];
        self.push(table, NfTablesMessage::DeleteRule(RuleMessage { attributes }), 0);
    }

    /// Creates an empty set. `id` is any number that no other new set of this batch has.
    pub fn add_set(&mut self, table: Table, set: &str, key: KeyType, id: u32) {
        let (key_type, length) = key.number_and_length();
        let attributes = vec![
            SetAttribute::Table(table.name.to_owned()),
            SetAttribute::Name(set.to_owned()),
            SetAttribute::KeyType(key_type),
            SetAttribute::KeyLen(length),
            SetAttribute::Id(id),
        ];
        self.push(table, NfTablesMessage::NewSet(SetMessage { attributes }), NLM_F_CREATE);
    }

    /// Deletes a set, which no rule may use any more.
    pub fn delete_set(&mut self, table: Table, set: &str) {
        let attributes = vec![SetAttribute::Table(table.name.to_owned()), SetAttribute::Name(set.to_owned())];
        self.push(table, NfTablesMessage::DeleteSet(SetMessage { attributes }), 0);
    }

    /// Adds elements to a set.
    pub fn add_elements(&mut self, table: Table, set: &str, elements: impl IntoIterator<Item = Vec<u8>>) {
        self.change_elements(table, set, elements, NfTablesMessage::NewSetElement, NLM_F_CREATE);
    }

    /// Removes elements of a set, all of which exist.
    pub fn delete_elements(&mut self, table: Table, set: &str, elements: impl IntoIterator<Item = Vec<u8>>) {
        self.change_elements(table, set, elements, NfTablesMessage::DeleteSetElement, 0);
    }

    fn change_elements(
        &mut self,
        table: Table,
        set: &str,
        elements: impl IntoIterator<Item = Vec<u8>>,
        message: impl Fn(SetElementMessage) -> NfTablesMessage,
        flags: u16,
    ) {
        let element = |bytes| ListAttribute::Element(vec![SetElementAttribute::Key(DataAttribute::Value(bytes))]);
        let elements: Vec<_> = elements.into_iter().map(element).collect();
        for elements in elements.chunks(ELEMENTS_MAX) {
            let attributes = vec![
                SetElementList::Table(table.name.to_owned()),
                SetElementList::Set(set.to_owned()),
                SetElementList::Elements(elements.to_vec()),
            ];
            self.push(table, message(SetElementMessage { attributes }), flags);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn push(&mut self, table: Table, message: NfTablesMessage, flags: u16) {
        self.messages.push((NetfilterMessage::new(NetfilterHeader::new(table.family, 0, 0), message), flags));
    }

    /// Begin, changes, end; none if nothing is changed. Only the last change is acknowledged:
    /// answers to all of a long batch would not fit into the socket's buffer.
    pub(super) fn into_messages(mut self) -> Vec<(NetfilterMessage, u16)> {
        let Some(last) = self.messages.last_mut() else { return Vec::new() };
        last.1 |= NLM_F_ACK;
        let control = |message: ControlMessage| {
            let header = NetfilterHeader::new(NetfilterProtoFamily::Unspec, 0, NFNL_SUBSYS_NFTABLES);
            (NetfilterMessage::new(header, message), 0)
        };
        self.messages.insert(0, control(ControlMessage::BatchBegin));
        self.messages.push(control(ControlMessage::BatchEnd));
        self.messages
    }
}
