//! One setting of a port that is not as it should be, as text.

pub(crate) struct Difference {
    pub(crate) setting: &'static str,
    pub(crate) observed: String,
    pub(crate) desired: String,
}
