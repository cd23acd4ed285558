//! Networks with policies: what pods get, and when.

mod changes;
mod outages;
mod scene;
