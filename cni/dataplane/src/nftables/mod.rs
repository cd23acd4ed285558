//! A small client of the kernel's nftables: tables, base chains, rules and sets of usnet. IO over
//! netlink; no program is run.
//!
//! - [`Batch`]: changes that the kernel makes together or not at all; [`Nftables::commit`] sends
//!   it.
//! - [`expression`]: what rules consist of.
//! - [`Nftables::chains`], [`Nftables::rules`], [`Nftables::elements`]: what there is.
//! - [`NftablesMonitor`]: waits for changes that other programs make.
//!
//! ```no_run
//! # use usnet_dataplane::nftables::{BaseChain, Batch, ChainHook, ChainKind};
//! # use usnet_dataplane::nftables::{Nftables, Policy, Table};
//! # use usnet_dataplane::nftables::expression::{payload, Base, equals, verdict, Verdict};
//! const TABLE: Table = Table::netdev("example");
//! let mut batch = Batch::default();
//! batch.add_table(TABLE);
//! let hook = ChainHook::Ingress { device: "eth0".to_owned() };
//! let name = "eth0".to_owned();
//! batch.add_chain(TABLE, &BaseChain {
//!     name, hook, priority: -500, policy: Policy::Accept, kind: ChainKind::Filter,
//! });
//! // Frames of the VLAN protocol are dropped.
//! let rule = vec![payload(Base::Link, 12, 2), equals(&[0x81, 0x00]), verdict(Verdict::Drop)];
//! batch.add_rule(TABLE, "eth0", rule);
//! Nftables::open()?.commit(batch)?;
//! # Ok::<(), usnet_dataplane::nftables::NftablesError>(())
//! ```

mod batch;
mod error;
pub mod expression;
mod monitor;
mod read;

pub use batch::{BaseChain, Batch, ChainHook, ChainKind, KeyType, Policy};
pub use error::NftablesError;
pub use expression::{Expression, MetaKey};
pub use monitor::NftablesMonitor;
pub use read::ObservedChain;

use crate::netlink::Netlink;
use netlink_packet_netfilter::NetfilterProtoFamily;
use netlink_sys::protocols::NETLINK_NETFILTER;

/// A table: a name in one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    family: NetfilterProtoFamily,
    name: &'static str,
}

impl Table {
    /// A table for the frames of single devices.
    pub const fn netdev(name: &'static str) -> Self {
        Self { family: NetfilterProtoFamily::NetDev, name }
    }

    /// A table for packets of IPv4 and IPv6.
    pub const fn inet(name: &'static str) -> Self {
        Self { family: NetfilterProtoFamily::Inet, name }
    }
}

/// A connection to nftables of the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Nftables {
    netlink: Netlink,
}

impl Nftables {
    /// Opens a connection.
    ///
    /// # Errors
    /// The kernel has no nftables, or no socket left.
    pub fn open() -> Result<Self, NftablesError> {
        let netlink = Netlink::open(NETLINK_NETFILTER).map_err(|error| NftablesError::of("open nftables", error))?;
        Ok(Self { netlink })
    }

    /// Makes the changes of a batch, all or none.
    ///
    /// # Errors
    /// The kernel rejects one of them: nothing was changed.
    pub fn commit(&mut self, batch: Batch) -> Result<(), NftablesError> {
        let messages = batch.into_messages();
        if messages.is_empty() {
            return Ok(());
        }
        self.netlink.transact(messages).map_err(|error| NftablesError::of("change nftables", error))
    }
}
