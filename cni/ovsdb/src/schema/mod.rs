//! The tables and columns of the `Open_vSwitch` database that usnet uses, as Rust types
//! (ovs-vswitchd.conf.db(5); the types come from `vswitch.ovsschema`, and a test compares them).
//!
//! The column `statistics` is omitted: it changes every five seconds for every interface, and is
//! read by [`crate::statistics`].

mod rows;
mod table;

pub use rows::{Bridge, Interface, OpenVswitch, Port, Qos};
pub use table::{Column, SchemaError, Table, TableRow};

pub(crate) use table::{column, uuid};

/// The tables with a row type, which a session monitors by default.
pub const TABLES: [&Table; 5] = [&OpenVswitch::TABLE, &Bridge::TABLE, &Port::TABLE, &Interface::TABLE, &Qos::TABLE];
