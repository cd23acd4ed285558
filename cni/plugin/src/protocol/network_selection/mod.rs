//! The networks that a pod selects: the [`annotation`] and its [`element`]s. No IO.

pub mod annotation;
pub mod element;
