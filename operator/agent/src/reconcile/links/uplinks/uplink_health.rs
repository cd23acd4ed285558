//! The health of one uplink.

use crate::model::health::Cause;

/// How an uplink is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UplinkHealth {
    /// Why the uplink does not work; none if it works or is pending.
    pub(super) cause: Option<Cause>,
    /// What is wrong with an uplink that works.
    pub(super) degraded: Option<Cause>,
    /// The member of a bond that carries frames, where only one does.
    pub(super) active: Option<String>,
    /// Whether operations remain to be done.
    pub(super) is_pending: bool,
    /// Whether pods may attach although the uplink has failed: the NIC existed and comes back by
    /// itself, or it carries frames, although not all.
    pub(super) is_attachable: bool,
}

impl UplinkHealth {
    pub(super) fn failed(cause: Cause) -> Self {
        Self { cause: Some(cause), ..Self::default() }
    }
}
