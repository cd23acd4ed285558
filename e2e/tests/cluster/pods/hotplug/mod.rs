//! Interfaces for pods that run.

mod attachments;
