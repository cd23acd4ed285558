//! Errors and foreign texts as they are shown to users.

mod error_chain;
mod one_line;

pub use error_chain::ErrorChain;
pub use one_line::OneLine;
