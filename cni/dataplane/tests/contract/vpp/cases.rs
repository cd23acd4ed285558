//! What VPP does, or suffers, and Open vSwitch does not.

pub(super) mod faults;
pub(super) mod half_made;
pub(super) mod limits;
pub(super) mod marks;
pub(super) mod outages;
pub(super) mod peers;
pub(super) mod sockets;
pub(super) mod traffic;
pub(super) mod twins;
