//! How often slices are written, if each is written at once and then at most once a second. Pure.

use usnet_crds::pod_slice::SLICE_PODS_MAX;

/// Pods that start and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Churn {
    pub(super) slices: usize,
    /// The namespaces with pods on a network, of all networks together.
    pub(super) namespaces: usize,
    /// In a second.
    pub(super) starts: f64,
    pub(super) ends: f64,
}

/// The cluster that was simulated before there was a controller, with 100,000 pods on 100 networks.
/// Its slices had 50 pods each: 158 of them were written in a second, with 0.25 MB. Each network
/// has pods of 25 namespaces, as in this benchmark.
pub(super) const LARGE: Churn =
    Churn { slices: 100_000 / SLICE_PODS_MAX, namespaces: 100 * 25, starts: 100.0, ends: 100.0 };
pub(super) const SIMULATED_WRITES: f64 = 158.0;
pub(super) const SIMULATED_MEGABYTES: f64 = 0.25;

impl Churn {
    pub(super) fn writes(self) -> f64 {
        writes(self)
    }
}

/// Writes in a second: a pod that ends is in any of the slices, and one that starts is put into
/// the first of its namespace that has room.
pub(super) fn writes(Churn { slices, namespaces, starts, ends }: Churn) -> f64 {
    let slices = slices.max(1) as f64;
    let with_room = slices.min(namespaces.max(1) as f64);
    slices * paced(ends / slices) + with_room * paced(starts / with_room)
}

/// Writes in a second of one object with so many changes in a second: after a write comes a second
/// without one, and then, if nothing has changed meanwhile, the wait for the next change.
fn paced(changes: f64) -> f64 {
    if changes > 0.0 { 1.0 / (1.0 + (-changes).exp() / changes) } else { 0.0 }
}
