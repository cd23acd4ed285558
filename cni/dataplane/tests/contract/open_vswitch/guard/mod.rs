//! Guards of ports: frames that a pod forges, on a bridge with two other pods. All frames of the
//! table are sent as they are, and looked for at both.

mod drift;
mod keeping;
mod kinds;
mod outages;
mod scene;

use crate::guard_frames as frames;
