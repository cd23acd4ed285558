//! The calls of virt-launcher.

use super::api::services::callbacks_server::Callbacks;
use super::api::services::info_server::Info;
use super::api::{
    HookPoint, InfoParams, InfoResult, OnDefineDomainParams, OnDefineDomainResult, PreCloudInitIsoParams,
    PreCloudInitIsoResult, ShutdownParams, ShutdownResult, VERSION,
};
use super::domain::with_nics;
use super::machine::{Binding, nics};
use std::error::Error;
use std::sync::Arc;
use tokio::sync::Notify;
use tonic::{Request, Response, Status};
use usnet_common::display::ErrorChain;

/// The sidecar.
#[derive(Debug, Clone)]
pub(super) struct Sidecar {
    binding: Arc<Binding>,
    /// Notified when the virtual machine ended.
    pub ended: Arc<Notify>,
}

impl Sidecar {
    pub(super) fn new(binding: Binding) -> Self {
        Self { binding: Arc::new(binding), ended: Arc::new(Notify::new()) }
    }

    fn define(&self, params: &OnDefineDomainParams) -> Result<Vec<u8>, Status> {
        let xml = std::str::from_utf8(&params.domain_xml).map_err(|error| refused(&error))?;
        let nics = nics(&params.vmi, &self.binding).map_err(|error| refused(&error))?;
        let edited = with_nics(xml, &nics).map_err(|error| refused(&error))?;
        tracing::info!(interfaces = nics.len(), "added the vhost-user interfaces to the domain");
        Ok(edited.into_bytes())
    }
}

/// Rejects a call, so that virt-launcher does not define the domain.
fn refused(error: &(dyn Error + 'static)) -> Status {
    let message = ErrorChain(error).to_string();
    tracing::error!(error = %message, "rejecting the domain");
    Status::invalid_argument(format!("usnet: {message}"))
}

#[tonic::async_trait]
impl Info for Sidecar {
    async fn info(&self, _: Request<InfoParams>) -> Result<Response<InfoResult>, Status> {
        let hook_point = |name: &str| HookPoint { name: name.to_owned(), priority: 0 };
        Ok(Response::new(InfoResult {
            name: "usnet".to_owned(),
            hook_points: ["OnDefineDomain", "Shutdown"].map(hook_point).to_vec(),
            versions: vec![VERSION.to_owned()],
        }))
    }
}

#[tonic::async_trait]
impl Callbacks for Sidecar {
    async fn on_define_domain(
        &self,
        request: Request<OnDefineDomainParams>,
    ) -> Result<Response<OnDefineDomainResult>, Status> {
        let domain_xml = self.define(&request.into_inner())?;
        Ok(Response::new(OnDefineDomainResult { domain_xml }))
    }

    async fn pre_cloud_init_iso(
        &self,
        _: Request<PreCloudInitIsoParams>,
    ) -> Result<Response<PreCloudInitIsoResult>, Status> {
        Err(Status::unimplemented("usnet does not change the data of cloud-init"))
    }

    async fn shutdown(&self, _: Request<ShutdownParams>) -> Result<Response<ShutdownResult>, Status> {
        self.ended.notify_one();
        Ok(Response::new(ShutdownResult {}))
    }
}
