//! The rules that the kernel has (IO).

use super::rules::{TABLE, chains, create, delete};
use crate::links::filter::FilterError;
use crate::links::kernel::namespace::within;
use crate::nftables::expression::are_same;
use crate::nftables::{Nftables, NftablesError, ObservedChain};
use std::path::Path;

/// The rules of a network namespace for the node's devices in networks.
#[derive(Debug)]
pub struct KernelNodeAccess {
    nftables: Nftables,
}

impl KernelNodeAccess {
    /// Those of a network namespace; none is that of this process.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the kernel has no nftables.
    pub fn open(network_namespace: Option<&Path>) -> Result<Self, FilterError> {
        let opened = within(network_namespace, || Ok(Nftables::open()))?;
        Ok(Self { nftables: opened? })
    }

    /// Whether the rules are there, or are not, as needed.
    pub fn is(&mut self, is_needed: bool) -> Result<bool, FilterError> {
        let found = self.nftables.chains(TABLE)?;
        Ok(if is_needed { self.is_complete(&found)? } else { found.is_empty() })
    }

    /// Makes it so. Returns whether something was changed.
    ///
    /// # Errors
    /// They could not be read or changed. They are as before then.
    pub fn ensure(&mut self, is_needed: bool) -> Result<bool, FilterError> {
        if self.is(is_needed)? {
            return Ok(false);
        }
        self.nftables.commit(if is_needed { create() } else { delete() })?;
        Ok(true)
    }

    fn is_complete(&mut self, found: &[ObservedChain]) -> Result<bool, NftablesError> {
        let chains = chains();
        for (chain, wanted) in &chains {
            let is_it =
                |found: &ObservedChain| found.name == chain.name && found.priority == chain.priority && !found.drops;
            let rules = self.nftables.rules(TABLE, &chain.name)?;
            let are_as_wanted =
                rules.len() == wanted.len() && rules.iter().zip(wanted).all(|(found, wanted)| are_same(found, wanted));
            if !found.iter().any(is_it) || !are_as_wanted {
                return Ok(false);
            }
        }
        Ok(found.len() == chains.len())
    }
}
