//! The generated files: the CRDs in `config/crd`, `docs/reference.md`, and the tables of reasons in
//! `docs/errors.md`.

mod applied;
pub mod errors;
pub mod manifests;
mod markdown;
pub mod reference;
