//! A client of the database of Open vSwitch: RFC 7047 over a unix socket.
//!
//! Values, operations, transactions, replies, the wire format, the monitor and the row cache do no
//! IO. Two clients do: [`blocking::Client`] without a runtime, for short-lived programs, and with
//! the feature `async` [`asynchronous::Session`], a long-lived session with automatic reconnect
//! that watches the tables. Code for both takes a [`Database`].
//!
//! [`statistics`] reads counters of interfaces on demand. Flows of a bridge are not in the
//! database: the crate `usnet-openflow` reads and changes them.
//!
//! Pitfalls, and how they are handled:
//! - A change that matches no row is not an error: guard it with [`Transaction::require_row`], or
//!   check [`Reply::expect_count`].
//! - An error can be anywhere in the answer, even after its end: [`Reply`] exists only without one.
//! - A map insert keeps the previous value of a key: [`Transaction::set_map_keys`] deletes it
//!   first.
//! - A committed change is not yet applied: [`Transaction::bump_next_cfg`] and
//!   [`Transaction::wait_for_cur_cfg`] wait for that.
//! - The server stops reading while its answers are not read: both clients read while they write.

#[cfg(feature = "async")]
pub mod asynchronous;
pub mod blocking;
pub mod control;
mod error;
pub mod monitor;
mod operation;
mod reply;
pub mod schema;
pub mod statistics;
mod transact;
mod transaction;
mod value;
pub mod wire;

pub use error::Error;
pub use monitor::{Cache, CacheError};
pub use operation::{Condition, Function, Mutation, Mutator, Operation, Until};
pub use reply::{DatabaseError, ErrorCode, OperationResult, Reply, ReplyError, TransactionError};
pub use schema::{Bridge, Column, Interface, OpenVswitch, Port, Qos, SchemaError, Table, TableRow};
pub use transact::Database;
pub use transaction::{CountIndex, DATABASE, NextCfgIndex, RowsIndex, SelectIndex, Transaction};
pub use value::{Atom, ColumnKind, FromAtom, FromValue, InvalidUuid, NamedUuid, ParseError, Real, Row, Uuid, Value};
