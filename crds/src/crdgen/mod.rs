//! The generated files: the CRDs in `config/crd`, and `docs/reference.md`.

mod applied;
pub mod manifests;
pub mod reference;
