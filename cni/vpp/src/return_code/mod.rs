//! Why VPP refused a request: its return codes, and what to do about them.

mod advice;
mod codes;

pub use codes::ReturnCode;
