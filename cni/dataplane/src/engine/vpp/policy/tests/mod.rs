//! The rules of access lists, compared with what policies say, and the plan of changes.

mod changes;
mod model;
mod random;
mod revoked;
mod verdicts;
