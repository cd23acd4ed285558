//! The rules that the kernel has (IO).

use super::model::OverlayFilter;
use super::rules::{FORWARD, INPUT, TABLE, chains, create, delete, sets};
use crate::links::LinkError;
use crate::links::kernel::namespace::within;
use crate::nftables::expression::counted_packets;
use crate::nftables::{Batch, Nftables, NftablesError};
use std::path::Path;

/// Why the rules could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The network namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] LinkError),
    /// The rules cannot be used.
    #[error(transparent)]
    Rules(#[from] NftablesError),
}

/// The rules of a network namespace for overlays.
#[derive(Debug)]
pub struct KernelFilter {
    nftables: Nftables,
}

impl KernelFilter {
    /// Those of a network namespace; none is that of this process.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the kernel has no nftables.
    pub fn open(network_namespace: Option<&Path>) -> Result<Self, FilterError> {
        let opened = within(network_namespace, || Ok(Nftables::open()))?;
        Ok(Self { nftables: opened? })
    }

    /// Whether nothing has to be changed.
    pub fn is(&mut self, filter: &OverlayFilter) -> Result<bool, FilterError> {
        if filter.is_empty() {
            return Ok(self.nftables.chains(TABLE)?.is_empty());
        }
        Ok(self.change(filter)?.is_some_and(|batch| batch.is_empty()))
    }

    /// Makes them so. Without overlays there are none. Returns whether something was changed.
    ///
    /// # Errors
    /// They could not be read or changed. They are as before then.
    pub fn ensure(&mut self, filter: &OverlayFilter) -> Result<bool, FilterError> {
        if self.is(filter)? {
            return Ok(false);
        }
        let batch = match (filter.is_empty(), self.change(filter)?) {
            (true, _) => delete(),
            (false, Some(changes)) => changes,
            (false, None) => create(filter),
        };
        self.nftables.commit(batch)?;
        Ok(true)
    }

    /// How many packets were dropped since the rules were made.
    pub fn dropped(&mut self) -> Result<u64, FilterError> {
        let mut packets = 0;
        for chain in [INPUT, FORWARD] {
            packets += self.nftables.rules(TABLE, chain)?.iter().flatten().filter_map(counted_packets).sum::<u64>();
        }
        Ok(packets)
    }

    /// The changes of sets alone; none if chains or rules differ, so that all is created again.
    fn change(&mut self, filter: &OverlayFilter) -> Result<Option<Batch>, FilterError> {
        if !self.nftables.has_chains(TABLE, &chains(filter))? {
            return Ok(None);
        }
        let mut batch = Batch::default();
        for set in sets(filter) {
            let Some(found) = self.nftables.elements(TABLE, set.name)? else { return Ok(None) };
            batch.add_elements(TABLE, set.name, set.elements.difference(&found).cloned());
            batch.delete_elements(TABLE, set.name, found.difference(&set.elements).cloned());
        }
        Ok(Some(batch))
    }
}
