//! The verbs of the CNI specification, except VERSION, which [`call`](crate::call) answers itself.
//!
//! ADD and DEL run the steps of [`attachment`](crate::attachment). GC detaches what the runtime no
//! longer lists; CHECK and STATUS change nothing. All of them perform IO. [`multi_network`] has the
//! same verbs for several networks in one call.

pub mod add;
pub mod check;
pub mod del;
pub mod gc;
pub(crate) mod history;
pub mod multi_network;
pub mod status;
