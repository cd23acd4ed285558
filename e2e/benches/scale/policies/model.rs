//! How often slices are written, if each is written at once and then at most once a second. Pure.

/// Pods that start and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Churn {
    pub(super) slices: usize,
    pub(super) networks: usize,
    /// In a second.
    pub(super) starts: f64,
    pub(super) ends: f64,
}

/// The cluster that was simulated before there was a controller, which wrote 158 slices a second.
pub(super) const LARGE: Churn = Churn { slices: 2052, networks: 100, starts: 100.0, ends: 100.0 };

impl Churn {
    pub(super) fn writes(self) -> f64 {
        writes(self)
    }
}

/// Writes in a second: a pod that ends is in any of the slices, and one that starts is put into
/// the first of its network that has room.
pub(super) fn writes(Churn { slices, networks, starts, ends }: Churn) -> f64 {
    let (slices, networks) = (slices.max(1) as f64, networks.max(1) as f64);
    slices * paced(ends / slices) + networks * paced(starts / networks)
}

/// Writes in a second of one object with so many changes in a second: after a write comes a second
/// without one, and then, if nothing has changed meanwhile, the wait for the next change.
fn paced(changes: f64) -> f64 {
    if changes > 0.0 { 1.0 / (1.0 + (-changes).exp() / changes) } else { 0.0 }
}
