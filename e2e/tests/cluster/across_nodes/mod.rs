//! Networks that do not end at their node.

mod count;
mod overlay;
