//! Status (pure): computes the status of a network from the reports of nodes and its NADs.
//!
//! 1. [`inputs`]: the results of the other steps for the network;
//! 2. [`selected_nodes`], [`tally`]: its nodes, and its progress on them; or, when it is being
//!    deleted, [`deletion`]: what blocks its deletion;
//! 3. [`active`] or [`deleting`]: its conditions;
//! 4. [`evaluate`](mod@evaluate): the whole status;
//! 5. [`due`]: when it is written.
//!
//! [`uplink`] has the same for uplinks, [`attachment`] for attachments, and [`reservation`]
//! for reservations.

mod active;
pub mod attachment;
mod deleting;
pub mod deletion;
pub mod due;
pub mod evaluate;
pub mod inputs;
pub mod reservation;
pub mod selected_nodes;
pub mod tally;
pub mod uplink;
