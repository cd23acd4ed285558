//! The API as users and programs see it: its rules, samples and generated files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

mod attachments;
mod engines;
mod generated;
mod malformed;
mod policies;
mod reservations;
mod rules;
mod samples;
mod support;
mod uplinks;
