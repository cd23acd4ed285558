//! Reading what there is.

use super::batch::{BaseChain, Policy};
use super::expression::are_same;
use super::{Expression, Nftables, NftablesError, Table};
use crate::netlink::NetlinkError;
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_netfilter::nftables::{
    ChainAttribute, ChainMessage, DataAttribute, ExpressionAttribute, Hook, ListAttribute, NfTablesMessage,
    RuleAttribute, RuleMessage, SetElementAttribute, SetElementList, SetElementMessage,
};
use netlink_packet_netfilter::{NetfilterHeader, NetfilterMessage, NetfilterMessageInner};
use std::collections::BTreeSet;

/// A base chain that exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedChain {
    pub name: String,
    /// The devices that it is attached to; none of other families, or when they are gone.
    pub devices: Vec<String>,
    /// Chains of a lower number come first.
    pub priority: i32,
    /// Whether it drops what no rule decides about.
    pub drops: bool,
    /// How many rules it contains, and references to it.
    pub uses: u32,
}

impl Nftables {
    /// The chains of a table; none if it does not exist.
    pub fn chains(&mut self, table: Table) -> Result<Vec<ObservedChain>, NftablesError> {
        let attributes = vec![ChainAttribute::Table(table.name.to_owned())];
        let answers = self.list(table, NfTablesMessage::GetChain(ChainMessage { attributes }), "list chains")?;
        let of_table = |answer: NfTablesMessage| match answer {
            NfTablesMessage::NewChain(chain) => chain_of(table, chain),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(of_table).collect())
    }

    /// Whether a table has these chains, with these rules and no others. It may have more chains.
    pub fn has_chains(
        &mut self,
        table: Table,
        chains: &[(BaseChain, Vec<Vec<Expression>>)],
    ) -> Result<bool, NftablesError> {
        let found = self.chains(table)?;
        for (chain, wanted) in chains {
            let drops = chain.policy == Policy::Drop;
            let is_it = |found: &ObservedChain| {
                (&found.name, found.priority, found.drops) == (&chain.name, chain.priority, drops)
            };
            let rules = self.rules(table, &chain.name)?;
            let are_same = rules.len() == wanted.len() && rules.iter().zip(wanted).all(|(a, b)| are_same(a, b));
            if !found.iter().any(is_it) || !are_same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rules of a chain in their order; none if it does not exist.
    pub fn rules(&mut self, table: Table, chain: &str) -> Result<Vec<Vec<Expression>>, NftablesError> {
        let attributes = vec![RuleAttribute::Table(table.name.to_owned()), RuleAttribute::Chain(chain.to_owned())];
        let answers = self.list(table, NfTablesMessage::GetRule(RuleMessage { attributes }), "list rules")?;
        let of_chain = |answer: NfTablesMessage| match answer {
            NfTablesMessage::NewRule(rule) => rule_of(table, chain, rule),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(of_chain).collect())
    }

    /// The elements of a set; none if it does not exist.
    pub fn elements(&mut self, table: Table, set: &str) -> Result<Option<BTreeSet<Vec<u8>>>, NftablesError> {
        let attributes = vec![SetElementList::Table(table.name.to_owned()), SetElementList::Set(set.to_owned())];
        let message = NfTablesMessage::GetSetElement(SetElementMessage { attributes });
        let answers = match self.list(table, message, "list elements") {
            Err(NftablesError::Missing(_)) => return Ok(None),
            other => other?,
        };
        let elements = |answer: NfTablesMessage| match answer {
            NfTablesMessage::NewSetElement(list) => list.attributes,
            _ => Vec::new(),
        };
        Ok(Some(answers.into_iter().flat_map(elements).flat_map(keys).collect()))
    }

    /// How often a list is read that changes meanwhile.
    const DUMPS: usize = 8;

    fn list(
        &mut self,
        table: Table,
        message: NfTablesMessage,
        what: &'static str,
    ) -> Result<Vec<NfTablesMessage>, NftablesError> {
        let message = NetfilterMessage::new(NetfilterHeader::new(table.family, 0, 0), message);
        let mut last = NetlinkError::Interrupted;
        for _ in 0..Self::DUMPS {
            match self.netlink.request::<_, NetfilterMessage>(message.clone(), NLM_F_DUMP) {
                Ok(answers) => return Ok(answers.into_iter().filter_map(inner).collect()),
                Err(error @ NetlinkError::Interrupted) => last = error,
                Err(error) => return Err(NftablesError::of(what, error)),
            }
        }
        Err(NftablesError::of(what, last))
    }
}

fn inner(message: NetfilterMessage) -> Option<NfTablesMessage> {
    match message.inner {
        NetfilterMessageInner::NfTables(message) => Some(message),
        _ => None,
    }
}

/// The kernel lists the chains of all tables of the family.
fn chain_of(table: Table, message: ChainMessage) -> Option<ObservedChain> {
    let mut chain = ObservedChain::default();
    for attribute in message.attributes {
        match attribute {
            ChainAttribute::Table(name) if name != table.name => return None,
            ChainAttribute::Name(name) => chain.name = name,
            ChainAttribute::Policy(policy) => chain.drops = policy == 0,
            ChainAttribute::Use(uses) => chain.uses = uses,
            ChainAttribute::Hook(hook) => hook.into_iter().for_each(|attribute| read_hook(&mut chain, attribute)),
            _ => {}
        }
    }
    Some(chain)
}

fn read_hook(chain: &mut ObservedChain, attribute: Hook) {
    use netlink_packet_core::Nla;
    match attribute {
        Hook::Priority(priority) => chain.priority = i32::from_ne_bytes(priority.to_ne_bytes()),
        Hook::NetDeviceName(device) => chain.devices = vec![device],
        Hook::NetDevices(devices) if chain.devices.is_empty() => {
            let name = |device: &netlink_packet_core::DefaultNla| {
                let mut bytes = vec![0; device.value_len()];
                device.emit_value(&mut bytes);
                String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
            };
            chain.devices = devices.iter().map(name).collect();
        }
        _ => {}
    }
}

fn rule_of(table: Table, chain: &str, message: RuleMessage) -> Option<Vec<Expression>> {
    let mut expressions = Vec::new();
    for attribute in message.attributes {
        match attribute {
            RuleAttribute::Table(name) if name != table.name => return None,
            RuleAttribute::Chain(name) if name != chain => return None,
            RuleAttribute::Expressions(list) => expressions = list.into_iter().filter_map(expression).collect(),
            _ => {}
        }
    }
    Some(expressions)
}

fn expression(element: ListAttribute<ExpressionAttribute>) -> Option<Expression> {
    let ListAttribute::Element(attributes) = element else { return None };
    attributes.into_iter().find_map(|attribute| match attribute {
        ExpressionAttribute::Data(expression) => Some(expression),
        _ => None,
    })
}

fn keys(attribute: SetElementList) -> Vec<Vec<u8>> {
    let SetElementList::Elements(elements) = attribute else { return Vec::new() };
    let key = |element| {
        let ListAttribute::Element(attributes) = element else { return None };
        attributes.into_iter().find_map(|attribute| match attribute {
            SetElementAttribute::Key(DataAttribute::Value(bytes)) => Some(bytes),
            _ => None,
        })
    };
    elements.into_iter().filter_map(key).collect()
}
