//! ADD for all networks that a pod selects: all of them, or none.

use crate::attachment::detach::Detachment;
use crate::attachment::node::Node;
use crate::attachment::request::pod_request;
use crate::error::Error;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::Environment;
use crate::protocol::network_selection::annotation::NetworkSelection;
use crate::protocol::network_selection::element::NetworkSelectionElement;
use crate::protocol::result::unchanged;
use crate::verbs::add::{AddRequest, Attached, Prepared};
use serde_json::Value;
use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, InterfaceName};
use usnet_dataplane::sandboxes::{Sandbox, Sandboxes};

/// A name that every pod has.
const LOOPBACK: &str = "lo";

/// The call that Multus would make for one element.
#[derive(Debug)]
struct ElementCall {
    place: String,
    environment: Environment,
    configuration: Configuration,
}

/// Attaches all networks of the pod's annotation, in its order, and appends them to the result of
/// the plugins before this one.
///
/// # Errors
/// Why one of them cannot be attached. All are rolled back then, or records stay from which they
/// are cleaned up.
pub fn add(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Value, Error> {
    environment.require_for_add()?;
    configuration.name()?;
    configuration.require_pod_annotations()?;
    let call = environment.attachment()?;
    let previous = configuration.result_of_chain(&environment.network_namespace())?;
    let calls = element_calls(environment, configuration, &call, previous)?;
    let mut requests = Vec::new();
    let mut routers = Vec::new();
    for ElementCall { place, environment, configuration } in &calls {
        let request = AddRequest::parse(environment, configuration).map_err(for_element(place))?;
        routers.extend(request.default_route());
        pod_request::require_one_per_family(&routers).map_err(|error| for_element(place)(error.into()))?;
        requests.push((place.as_str(), request.with_invoked_ifname(&call.interface)));
    }
    let mut result = unchanged(configuration.version()?, previous);
    for (request, attached) in attach_all(node, &requests)? {
        request.write_history(node, &attached);
        result = request.result(&attached, Some(&result));
    }
    write_sandbox(node, environment, &call);
    Ok(result)
}

/// For interfaces that are attached later, also to pods without an annotation. If it cannot be
/// written these fail with the reason, and the pod starts.
fn write_sandbox(node: &Node, environment: &Environment, call: &AttachmentId) {
    if let Some(pod) = environment.arguments().ok().and_then(|arguments| arguments.pod().ok()) {
        let sandbox = Sandbox { container: call.container.clone(), network_namespace: environment.network_namespace() };
        let _written = Sandboxes::new(&node.roots).write(&pod.uid, sandbox);
    }
}

fn element_calls(
    environment: &Environment,
    configuration: &Configuration,
    call: &AttachmentId,
    previous: Option<&Value>,
) -> Result<Vec<ElementCall>, Error> {
    let networks = NetworkSelection::read(configuration, &pod_interfaces(call, previous))?;
    let call = |(index, element): (usize, &NetworkSelectionElement)| {
        let id = AttachmentId { container: call.container.clone(), interface: element.interface.clone() };
        ElementCall {
            place: format!(
                "element {} ({} as {}) of annotation {}",
                index + 1,
                element.network,
                element.interface,
                networks.key
            ),
            environment: environment.for_interface(&id),
            configuration: element.configuration(configuration),
        }
    };
    Ok(networks.elements.iter().enumerate().map(call).collect())
}

/// The interfaces that the pod has by now.
pub(super) fn pod_interfaces(call: &AttachmentId, previous: Option<&Value>) -> BTreeSet<InterfaceName> {
    let entries = previous.and_then(|result| result.get("interfaces")).and_then(Value::as_array).into_iter().flatten();
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of_pod = entries.filter(|entry| !text(entry, "sandbox").is_empty()).map(|entry| text(entry, "name"));
    let mut all: BTreeSet<InterfaceName> =
        of_pod.chain([LOOPBACK.to_owned()]).filter_map(|name| name.parse().ok()).collect();
    all.insert(call.interface.clone());
    all
}

/// Everything that can be checked is checked for all elements before the first one is attached.
fn attach_all<'r, 'a>(
    node: &Node,
    requests: &'r [(&str, AddRequest<'a>)],
) -> Result<Vec<(&'r AddRequest<'a>, Attached)>, Error> {
    let mut first: Option<Prepared> = None;
    for (place, request) in requests {
        let prepared = request.prepare(node).map_err(for_element(place))?;
        first.get_or_insert(prepared);
    }
    let mut attached: Vec<(&AddRequest<'a>, Attached)> = Vec::new();
    for (place, request) in requests {
        // Later elements are prepared again: their parameters may depend on the interfaces attached
        // before them.
        let prepared = first.take().map_or_else(|| request.prepare(node), Ok);
        match prepared.and_then(|prepared| request.attach(node, prepared)) {
            Ok(one) => attached.push((request, one)),
            Err(error) => return Err(roll_back(node, &attached, for_element(place)(error))),
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
    Ok(Detachment::new(node, request.environment(), &locked, record).run()?.into_gone()?)
}

fn for_element(place: &str) -> impl Fn(Error) -> Error + use<> {
    let place = place.to_owned();
    move |cause| Error::NetworkSelectionElement { place: place.clone(), cause: Box::new(cause) }
}
