//! ADD for all networks that a pod selects: it attaches all of them or none. IO.

use crate::attachment::attach::PreparedAttachment;
use crate::attachment::detach::Detachment;
use crate::attachment::node::Node;
use crate::attachment::request::pod_request;
use crate::error::Error;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::Environment;
use crate::protocol::network_selection::annotation::NetworkSelection;
use crate::protocol::network_selection::element::NetworkSelectionElement;
use crate::protocol::result::unchanged;
use crate::verbs::add::{AddRequest, Attached};
use crate::verbs::multi_network::claims::{ClaimedElement, claimed_elements};
use serde_json::Value;
use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, InterfaceName};
use usnet_dataplane::sandboxes::{Sandbox, Sandboxes};

/// The interface that every pod has.
const LOOPBACK: &str = "lo";

/// The call that Multus would make for one element.
#[derive(Debug)]
struct ElementCall {
    /// The element, for messages.
    requested_by: String,
    environment: Environment,
    configuration: Configuration,
}

/// Attaches all networks of the pod's annotation, in its order, and those of its resource claims
/// that need its network namespace, and appends them to the result of the plugins before this one.
///
/// # Errors
/// One of them cannot be attached. All are rolled back then, or records stay from which they are
/// cleaned up.
pub fn add(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Value, Error> {
    environment.require_for_add()?;
    configuration.name()?;
    configuration.require_pod_annotations()?;
    let call = environment.attachment()?;
    let previous = configuration.result_of_chain(&environment.network_namespace())?;
    let calls = element_calls(node, environment, configuration, &call, previous)?;
    let mut requests = Vec::new();
    let mut gateways = Vec::new();
    for ElementCall { requested_by, environment, configuration } in &calls {
        let request = AddRequest::parse(environment, configuration).map_err(for_element(requested_by))?;
        gateways.extend(request.default_route());
        pod_request::require_one_per_family(&gateways).map_err(|error| for_element(requested_by)(error.into()))?;
        requests.push((requested_by.as_str(), request.with_invoked_ifname(&call.interface)));
    }
    let mut result = unchanged(configuration.version()?, previous);
    for (request, attached) in attach_all(node, &requests)? {
        request.write_history(node, &attached);
        result = request.result(&attached, Some(&result));
    }
    write_sandbox(node, environment, &call);
    Ok(result)
}

/// Writes the pod's sandbox for interfaces that are attached later, also to pods without an
/// annotation. If it cannot be written, only those attachments fail.
fn write_sandbox(node: &Node, environment: &Environment, call: &AttachmentId) {
    if let Some(pod) = environment.arguments().ok().and_then(|arguments| arguments.pod().ok()) {
        let sandbox = Sandbox { container: call.container.clone(), network_namespace: environment.network_namespace() };
        let _written = Sandboxes::new(&node.paths).write(&pod.uid, sandbox);
    }
}

fn element_calls(
    node: &Node,
    environment: &Environment,
    configuration: &Configuration,
    call: &AttachmentId,
    previous: Option<&Value>,
) -> Result<Vec<ElementCall>, Error> {
    let mut used = pod_interfaces(call, previous);
    let networks = NetworkSelection::read(configuration, &used)?;
    let element_call = |requested_by: String, element: &NetworkSelectionElement| {
        let id = AttachmentId { container: call.container.clone(), interface: element.interface.clone() };
        let configuration = element.configuration(configuration);
        ElementCall { requested_by, environment: environment.for_interface(&id), configuration }
    };
    let mut calls = Vec::new();
    for (index, element) in networks.elements.iter().enumerate() {
        let NetworkSelectionElement { network, interface, .. } = element;
        let requested_by = format!("element {} ({network} as {interface}) of annotation {}", index + 1, networks.key);
        used.insert(interface.clone());
        calls.push(element_call(requested_by, element));
    }
    for ClaimedElement { requested_by, element } in claimed_elements(node, environment, used)? {
        calls.push(element_call(requested_by, &element));
    }
    Ok(calls)
}

/// The interfaces that the pod has before this call: that of the call, those in the result of the
/// plugins before this one, and `lo`.
pub(super) fn pod_interfaces(call: &AttachmentId, previous: Option<&Value>) -> BTreeSet<InterfaceName> {
    let entries = previous.and_then(|result| result.get("interfaces")).and_then(Value::as_array).into_iter().flatten();
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of_pod = entries.filter(|entry| !text(entry, "sandbox").is_empty()).map(|entry| text(entry, "name"));
    let mut all: BTreeSet<InterfaceName> =
        of_pod.chain([LOOPBACK.to_owned()]).filter_map(|name| name.parse().ok()).collect();
    all.insert(call.interface.clone());
    all
}

/// Attaches all elements. Everything that can be checked is checked for all of them before the
/// first one is attached.
fn attach_all<'r, 'a>(
    node: &Node,
    requests: &'r [(&str, AddRequest<'a>)],
) -> Result<Vec<(&'r AddRequest<'a>, Attached)>, Error> {
    let mut first: Option<PreparedAttachment> = None;
    for (requested_by, request) in requests {
        let prepared = request.prepare(node).map_err(for_element(requested_by))?;
        first.get_or_insert(prepared);
    }
    let mut attached: Vec<(&AddRequest<'a>, Attached)> = Vec::new();
    for (requested_by, request) in requests {
        // Later elements are prepared again: their parameters may depend on the interfaces attached
        // before them.
        let prepared = first.take().map_or_else(|| request.prepare(node), Ok);
        match prepared.and_then(|prepared| request.attach(node, prepared)) {
            Ok(one) => attached.push((request, one)),
            Err(error) => return Err(roll_back(node, &attached, for_element(requested_by)(error))),
        }
    }
    Ok(attached)
}

fn roll_back(node: &Node, attached: &[(&AddRequest<'_>, Attached)], cause: Error) -> Error {
    let mut first_failure = None;
    for (request, attached) in attached.iter().rev().filter(|(_, attached)| !attached.is_repeated) {
        if let Err(left) = detach(node, request, attached) {
            first_failure.get_or_insert(left);
        }
    }
    match first_failure {
        None => cause,
        Some(left) => Error::RollbackFailed { cause: Box::new(cause), left: Box::new(left) },
    }
}

fn detach(node: &Node, request: &AddRequest<'_>, attached: &Attached) -> Result<(), Error> {
    let locked = node.journal.lock(&attached.record.id)?;
    let Some(record) = locked.read()? else { return Ok(()) };
    Ok(Detachment::new(node, request.environment(), &locked, record).run()?.require_port_removed()?)
}

fn for_element(requested_by: &str) -> impl Fn(Error) -> Error + use<> {
    let requested_by = requested_by.to_owned();
    move |cause| Error::NetworkSelectionElement { requested_by: requested_by.clone(), cause: Box::new(cause) }
}
