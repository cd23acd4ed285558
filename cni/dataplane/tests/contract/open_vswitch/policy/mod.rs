//! Policies of ports, on a bridge with three pods and what is outside. All ports send, and frames
//! are looked for at all others.

mod attack;
mod chance;
mod changes;
mod flows;
mod keeping;
mod packets;
mod scene;
mod sequences;
mod thousand;
mod updates;
