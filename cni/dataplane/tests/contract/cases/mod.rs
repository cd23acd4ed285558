//! The cases. Each gets a switch of its own.

pub(crate) mod adopted;
pub(crate) mod captured_frames;
pub(crate) mod captures;
pub(crate) mod counters;
pub(crate) mod creation;
pub(crate) mod devices;
pub(crate) mod drift;
pub(crate) mod foreign;
pub(crate) mod outages;
pub(crate) mod queues;
pub(crate) mod refusals;
pub(crate) mod settings;
