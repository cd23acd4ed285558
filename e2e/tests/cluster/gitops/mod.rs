//! Networks, and usnet itself, delivered from a repository by the tools themselves: Flux'
//! kustomize-controller, and Argo CD's application controller with its repository server.
//!
//! - [`tool`]: the operations of a tool on the parts of a repository;
//! - [`flux`], [`argo`]: both tools;
//! - [`delivery`]: networks that are delivered, removed and restored;
//! - [`installation`], [`system`]: usnet itself, from its installation to its removal;
//! - [`orders`]: usnet that is removed in the wrong order, and installed again;
//! - [`failures`]: failures of a repository;
//! - [`tenants`]: what a tenant may deliver;
//! - [`matrix`], [`helm`]: every tool after every other tool;
//! - [`figures`]: tables for users.

mod argo;
mod delivery;
mod failures;
mod figures;
mod flux;
mod helm;
mod installation;
mod matrix;
mod orders;
mod system;
mod tenants;
mod tool;
