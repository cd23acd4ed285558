//! VPP's return codes, with advice.

mod advice;
mod codes;

pub use codes::ReturnCode;
