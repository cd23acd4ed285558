//! `UserspaceReservation`: settings that the owner of a namespace fixes for pods by their names,
//! within what the network allows in `spec.reservations`.
//!
//! - [`spec`]: what users write, and its rules in CEL; [`mod@validate`]: the same rules in Rust;
//! - [`allowed`]: what the network allows; `compare`: a reservation compared with it;
//! - [`problem`]: what is wrong with either;
//! - [`status`]: what the controller reports.

pub mod allowed;
mod compare;
pub mod problem;
pub mod spec;
pub mod status;
pub mod validate;
