//! The rules that the kernel has (IO).

use super::rules::{TABLE, chains, create, delete};
use crate::links::filter::FilterError;
use crate::links::kernel::namespace::within;
use crate::nftables::Nftables;
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
        let is_as_needed = match is_needed {
            true => self.nftables.has_chains(TABLE, &chains())?,
            false => self.nftables.chains(TABLE)?.is_empty(),
        };
        Ok(is_as_needed)
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
}
