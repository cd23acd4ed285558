//! The CNI plugin `userspace`. The library of this crate has its code.
//!
//! There is no `main` of Rust. What the standard library does before it, above all a stack for the
//! message that another stack overflowed, was a tenth of the system calls of an ADD; [`start`] does
//! what of it is needed.
#![cfg_attr(not(test), no_main)]

#[cfg(not(test))]
mod start;
