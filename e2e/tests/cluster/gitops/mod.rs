//! Networks, and usnet itself, delivered from a repository by the tools themselves: Flux'
//! kustomize-controller, and Argo CD's application controller with its repository server.
//!
//! - [`tool`]: what a tool does with the parts of a repository;
//! - [`flux`], [`argo`]: both tools;
//! - [`delivery`]: networks that are delivered, removed and put back;
//! - [`installation`], [`system`]: usnet itself, from nothing until it is removed;
//! - [`orders`]: usnet removed in the wrong order, and installed again;
//! - [`failures`]: what goes wrong around a repository;
//! - [`tenants`]: what a tenant may deliver;
//! - [`matrix`], [`helm`]: every tool after every other one;
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
