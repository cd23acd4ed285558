//! Networks with policies: what pods get, and when.

mod changes;
mod labels;
mod outages;
mod scene;
