//! The rules of the CNI specification.

mod calls;
mod conformance;
mod invalid_names;
mod verbs;
