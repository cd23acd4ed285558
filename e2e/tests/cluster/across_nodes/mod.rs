//! Networks that do not end at their node.

mod count;
mod outside;
mod overlay;
mod uplink;
