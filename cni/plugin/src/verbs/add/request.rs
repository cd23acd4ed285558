//! The parameters of an ADD, from its environment and configuration. No IO.

use crate::attachment::request::mac::generated_mac;
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
    /// Whether the configuration names an IPAM plugin, for a network that has none.
    pub(super) has_own_ipam: bool,
    /// The result of the plugins before this one in a chain.
    pub(super) previous: Option<&'a Value>,
    pub(super) id: AttachmentId,
    pub(super) network_namespace: PathBuf,
    pub(super) pod: Pod,
    pub(super) pod_request: PodRequest,
    /// The MAC address if none is requested.
    pub(super) default_mac: MacAddress,
    pub(super) invoked_ifname: Option<InterfaceName>,
}

impl<'a> AddRequest<'a> {
    pub fn parse(environment: &'a Environment, configuration: &'a Configuration) -> Result<Self, Error> {
        environment.require_for_add()?;
        let id = environment.attachment()?;
        let arguments = environment.arguments()?;
        configuration.name()?;
        let target = configuration.target()?;
        let pod_request = PodRequest::read(configuration, &arguments)?;
        let configured_mac = match &target {
            Target::Bridge(legacy) => legacy.mac,
            Target::Network(_) => None,
        };
        Ok(Self {
            started: Instant::now(),
            environment,
            configuration,
            version: configuration.version()?,
            target,
            has_own_ipam: configuration.ipam()?.is_some(),
            previous: configuration.result_of_chain(&environment.network_namespace())?,
            network_namespace: environment.network_namespace(),
            pod: arguments.pod().map_err(EnvironmentError::Arguments)?,
            pod_request,
            default_mac: configured_mac.unwrap_or_else(|| generated_mac(&id)),
            id,
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

    pub fn environment(&self) -> &Environment {
        self.environment
    }
}
