//! The packet rules that admit only peers to overlays (IO). They cover the overlays of all engines,
//! so that each reconciler writes the same rules.

use super::kernel::on_thread;
use crate::model::spec::{EngineSpec, NodeSpec};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use usnet_common::display::ErrorChain;
use usnet_crds::Encapsulation;
use usnet_dataplane::links::ObservedLinks;
use usnet_dataplane::links::filter::{FilterError, KernelFilter, OverlayFilter};

#[derive(Debug, Default)]
pub(super) struct Filter {
    node: Option<Arc<NodeSpec>>,
    /// Why the rules could not be written.
    problem: Option<String>,
}

impl Filter {
    /// Sets the node whose overlays are filtered.
    pub(super) fn set_spec(&mut self, spec: &EngineSpec) {
        self.node = Some(Arc::clone(&spec.node));
    }

    /// The addresses of this node between which kernel overlays run.
    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let overlays = self.node.iter().flat_map(|node| &node.networks).filter_map(|network| network.overlay.as_ref());
        overlays.filter(|overlay| overlay.encapsulation == Encapsulation::Kernel).map(|overlay| overlay.local)
    }

    /// Why new devices may not be set up.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Writes the rules for the overlays of the node and for the observed devices. Returns whether
    /// that changed anything.
    pub(super) async fn ensure(&mut self, network_namespace: Option<PathBuf>, observed: &ObservedLinks) -> bool {
        let filter = self.desired(observed);
        let is_needed = !filter.is_empty();
        let result = on_kernel(network_namespace, move |kernel| kernel.ensure(&filter)).await;
        // Without overlays it does not matter that no rules can be written.
        self.problem = result.as_ref().err().filter(|_| is_needed).map(|error| ErrorChain(error).to_string());
        result.unwrap_or(false)
    }

    /// Whether another program has changed the rules.
    pub(super) async fn has_changed(&self, network_namespace: Option<PathBuf>, observed: &ObservedLinks) -> bool {
        let filter = self.desired(observed);
        let is_needed = !filter.is_empty();
        let result = on_kernel(network_namespace, move |kernel| kernel.is(&filter)).await;
        match (result, &self.problem) {
            (Ok(is_as_desired), _) => !is_as_desired,
            (Err(_), problem) => is_needed && problem.is_none(),
        }
    }

    fn desired(&self, observed: &ObservedLinks) -> OverlayFilter {
        let networks = self.node.iter().flat_map(|node| &node.networks);
        OverlayFilter::new(networks.map(AsRef::as_ref), observed)
    }
}

async fn on_kernel<T: Send + 'static>(
    network_namespace: Option<PathBuf>,
    request: impl FnOnce(&mut KernelFilter) -> Result<T, FilterError> + Send + 'static,
) -> Result<T, FilterError> {
    let run = move || request(&mut KernelFilter::open(network_namespace.as_deref())?);
    on_thread(run).await.unwrap_or_else(|error| Err(error.into()))
}
