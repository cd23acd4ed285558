//! The generated files: the CRDs in `config/crd`, `docs/reference.md`, and the errors and reasons
//! in `docs/errors.md`.

mod applied;
pub mod errors;
pub mod manifests;
mod markdown;
pub mod reference;
