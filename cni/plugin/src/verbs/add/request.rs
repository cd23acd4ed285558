//! The parameters of an ADD, from its environment and configuration. No IO.

use crate::attachment::request::mac::mac_of;
use crate::attachment::request::pod_request::PodRequest;
use crate::error::Error;
use crate::protocol::configuration::{Configuration, Target};
use crate::protocol::environment::{Environment, EnvironmentError};
use crate::protocol::version::SpecVersion;
use serde_json::Value;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Instant;
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::{AttachmentId, InterfaceName, Pod};

/// The parameters of an ADD. All of them are validated before anything is changed.
#[derive(Debug)]
pub struct AddRequest<'a> {
    pub(super) started: Instant,
    pub(super) environment: &'a Environment,
    pub(super) configuration: &'a Configuration,
    pub(super) version: SpecVersion,
    pub(super) target: Target,
    pub(super) own_ipam: Option<Value>,
    pub(super) previous: Option<&'a Value>,
    pub(super) id: AttachmentId,
    pub(super) network_namespace: PathBuf,
    pub(super) pod: Pod,
    pub(super) mac: MacAddress,
    pub(super) pod_request: PodRequest,
    pub(super) invoked_ifname: Option<InterfaceName>,
}

impl<'a> AddRequest<'a> {
    /// Parses the environment and the configuration of a call.
    ///
    /// # Errors
    /// What is invalid.
    pub fn parse(environment: &'a Environment, configuration: &'a Configuration) -> Result<Self, Error> {
        environment.require_for_add()?;
        let id = environment.attachment()?;
        let arguments = environment.arguments()?;
        configuration.name()?;
        let target = configuration.target()?;
        let pod_request = PodRequest::read(configuration, &arguments)?;
        let mac = match (pod_request.mac, &target) {
            (Some(requested), _) => requested,
            (None, Target::Bridge(legacy)) => legacy.mac.unwrap_or_else(|| mac_of(&id)),
            (None, Target::Network(_)) => mac_of(&id),
        };
        Ok(Self {
            started: Instant::now(),
            environment,
            configuration,
            version: configuration.version()?,
            target,
            own_ipam: configuration.ipam()?,
            previous: configuration.result_of_chain(&environment.network_namespace())?,
            id,
            network_namespace: environment.network_namespace(),
            pod: arguments.pod().map_err(EnvironmentError::Arguments)?,
            mac,
            pod_request,
            invoked_ifname: None,
        })
    }

    /// Marks this as one of several interfaces that are attached by a call for `interface`.
    pub fn with_invoked_ifname(self, interface: &InterfaceName) -> Self {
        Self { invoked_ifname: Some(interface.clone()), ..self }
    }

    /// The gateways of the default routes that the pod requests on this interface.
    pub fn default_route(&self) -> &[IpAddr] {
        &self.pod_request.default_route
    }

    /// The environment of the call.
    pub fn environment(&self) -> &Environment {
        self.environment
    }
}
