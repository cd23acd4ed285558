//! Texts for users: errors, foreign texts, tables.

mod error_chain;
mod first_failure;
mod one_line;
mod table;

pub use error_chain::ErrorChain;
pub use first_failure::FirstFailure;
pub use one_line::OneLine;
pub use table::{age, table};
