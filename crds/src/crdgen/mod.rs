//! The generated files: the CRDs in `config/crd`, `docs/reference.md`, the errors and reasons in
//! `docs/errors.md`, and the preparation of nodes in `docs/engines.md`.

mod applied;
pub mod engines;
pub mod errors;
pub mod manifests;
mod markdown;
pub mod reference;
