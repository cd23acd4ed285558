//! What of the data plane is tested from outside and needs no engine.
#![cfg(test)]

mod malformed;
