//! ADD for all networks that a pod lists: all of them, or none.

use crate::add::{Attached, Prepared, Request};
use crate::chained::annotation::Networks;
use crate::chained::element::Element;
use crate::cni::configuration::Configuration;
use crate::cni::environment::Environment;
use crate::cni::result::unchanged;
use crate::detach::{Detachment, Outcome};
use crate::error::Error;
use crate::node::Node;
use crate::wishes;
use serde_json::Value;
use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, InterfaceName};

/// A name that every pod has.
const LOOPBACK: &str = "lo";

/// One network of the pod, and the call that Multus would make for it.
#[derive(Debug)]
struct Call {
    place: String,
    environment: Environment,
    configuration: Configuration,
}

/// Attaches every network that the pod's annotation lists, in its order, and adds them to the result of the plugins before this one.
///
/// # Errors
/// Why one of them cannot be attached. Nothing is left of the others then, or records from which they are cleaned up.
pub fn add(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Value, Error> {
    environment.require_for_add()?;
    configuration.name()?;
    configuration.require_networks_of_pod()?;
    let call = environment.attachment()?;
    let previous = configuration.previous_result()?;
    let calls = calls(environment, configuration, &call, previous)?;
    let mut requests = Vec::new();
    let mut routers = Vec::new();
    for Call { place, environment, configuration } in &calls {
        let request = Request::parse(environment, configuration).map_err(at(place))?;
        routers.extend(request.default_route());
        wishes::require_one_of_each_family(&routers).map_err(|error| at(place)(error.into()))?;
        requests.push((place.as_str(), request.called_for(&call.interface)));
    }
    let mut result = unchanged(configuration.version()?, previous);
    for (request, attached) in attach_all(node, &requests)? {
        result = request.result(&attached, Some(&result));
    }
    Ok(result)
}

fn calls(
    environment: &Environment,
    configuration: &Configuration,
    call: &AttachmentId,
    previous: Option<&Value>,
) -> Result<Vec<Call>, Error> {
    let networks = Networks::read(configuration, &interfaces(call, previous))?;
    let call = |(index, element): (usize, &Element)| {
        let id = AttachmentId { container: call.container.clone(), interface: element.interface.clone() };
        Call {
            place: format!(
                "element {} ({} as {}) of annotation {}",
                index + 1,
                element.network,
                element.interface,
                networks.key
            ),
            environment: environment.of_one_interface(&id),
            configuration: element.configuration(configuration),
        }
    };
    Ok(networks.elements.iter().enumerate().map(call).collect())
}

/// The interfaces that the pod has by now.
pub(super) fn interfaces(call: &AttachmentId, previous: Option<&Value>) -> BTreeSet<InterfaceName> {
    let entries = previous.and_then(|result| result.get("interfaces")).and_then(Value::as_array).into_iter().flatten();
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let of_pod = entries.filter(|entry| !text(entry, "sandbox").is_empty()).map(|entry| text(entry, "name"));
    let mut all: BTreeSet<InterfaceName> =
        of_pod.chain([LOOPBACK.to_owned()]).filter_map(|name| name.parse().ok()).collect();
    all.insert(call.interface.clone());
    all
}

/// What can be checked is checked of all before the first is attached.
fn attach_all<'r, 'a>(
    node: &Node,
    requests: &'r [(&str, Request<'a>)],
) -> Result<Vec<(&'r Request<'a>, Attached)>, Error> {
    let mut first: Option<Prepared> = None;
    for (place, request) in requests {
        let prepared = request.prepare(node).map_err(at(place))?;
        first.get_or_insert(prepared);
    }
    let mut attached: Vec<(&Request<'a>, Attached)> = Vec::new();
    for (place, request) in requests {
        // Anew behind the first: what an interface gets may follow from those that the pod has by then.
        let prepared = first.take().map_or_else(|| request.prepare(node), Ok);
        match prepared.and_then(|prepared| request.attach(node, prepared)) {
            Ok(one) => attached.push((request, one)),
            Err(error) => return Err(undo(node, &attached, at(place)(error))),
        }
    }
    Ok(attached)
}

fn undo(node: &Node, attached: &[(&Request<'_>, Attached)], cause: Error) -> Error {
    let mut first_left = None;
    for (request, attached) in attached.iter().rev() {
        if let Err(left) = detach(node, request, attached) {
            first_left.get_or_insert(left);
        }
    }
    match first_left {
        None => cause,
        Some(left) => Error::NotUndone { cause: Box::new(cause), left: Box::new(left) },
    }
}

fn detach(node: &Node, request: &Request<'_>, attached: &Attached) -> Result<(), Error> {
    let locked = node.journal.lock(&attached.record.id)?;
    let Some(record) = locked.read()? else { return Ok(()) };
    match Detachment::new(node, request.environment(), &locked, record).run()? {
        Outcome::Gone => Ok(()),
        Outcome::PortLeft(error) => Err(error.into()),
    }
}

fn at(place: &str) -> impl Fn(Error) -> Error + use<> {
    let place = place.to_owned();
    move |cause| Error::Element { place: place.clone(), cause: Box::new(cause) }
}
