//! What `usnet node` prints as JSON on a node, and `kubectl usnet` reads: each module has the
//! values of a command; [`pcapng`]: the format of captures. No IO.

pub mod bridge;
pub mod bundle;
pub mod capture;
pub mod history;
pub mod pcapng;
pub mod ports;
