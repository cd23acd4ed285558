//! The generated files: the CRDs in `config/crd`, and `docs/reference.md`.

pub mod manifests;
pub mod reference;
