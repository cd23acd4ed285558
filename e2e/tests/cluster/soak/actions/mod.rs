//! The actions of the steps.

pub(crate) mod fault_injection;
pub(crate) mod manifests;
pub(crate) mod manual_edits;
pub(crate) mod nads;
pub(crate) mod parts;
pub(crate) mod pods;
