//! Errors and foreign texts as they are shown to users.

mod error_chain;
mod first_failure;
mod one_line;

pub use error_chain::ErrorChain;
pub(crate) use first_failure::FirstFailure;
pub use one_line::OneLine;
