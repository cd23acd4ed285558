//! DEL, CHECK and STATUS for all networks that a pod selects. The attached interfaces are known by
//! their records: the annotation may have changed since, or be gone. IO.

use crate::attachment::node::Node;
use crate::error::{Error, with_causes};
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::{Environment, EnvironmentError};
use crate::protocol::error::ErrorCode;
use crate::protocol::network_selection::annotation::NetworkSelection;
use crate::protocol::version::SpecVersion;
use crate::verbs::check::{compare, previous_result};
use crate::verbs::multi_network::add::pod_interfaces;
use crate::verbs::{Note, del};
use serde_json::Value;
use std::collections::BTreeSet;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::journal::{self, Key};
use usnet_dataplane::sandboxes::Sandboxes;

/// Detaches all interfaces of a call with this configuration. All are tried, even if some fail.
///
/// # Errors
/// Something remains that only another DEL can remove.
pub fn del(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Option<Note>, Error> {
    environment.require_for_del()?;
    let call = match environment.attachment() {
        Ok(call) => call,
        // As in DEL of one interface: such a name was never attached.
        Err(error @ EnvironmentError::Identifier { .. }) => return Ok(Some(with_causes(&error))),
        Err(error) => return Err(error.into()),
    };
    let name = match configuration.name() {
        Ok(name) => name,
        // ADD rejects such a configuration, so nothing is attached by it.
        Err(error) => return Ok(Some(with_causes(&error))),
    };
    // Before anything is detached, so that nothing more is attached to the sandbox.
    if let Some(pod) = environment.arguments().ok().and_then(|arguments| arguments.pod().ok()) {
        let _removed = Sandboxes::new(&node.paths).remove(&pod.uid, &call.container);
    }
    let (attached, unreadable) = attached(node, &call, name, HotPlugged::Include)?;
    let (mut notes, mut failed) = (Vec::new(), unreadable);
    for id in attached.iter().rev() {
        match del::del(node, &environment.for_interface(id), configuration) {
            Ok(note) => notes.extend(note),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok((!notes.is_empty()).then(|| notes.join("; "))),
    }
}

/// Compares each of the pod's interfaces with the ADD result.
///
/// # Errors
/// The differences of the first interface that differs, or the reason why it could not be compared.
pub fn check(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<(), Error> {
    environment.require_for_add()?;
    configuration.require_version(SpecVersion::V0_4_0, "CHECK")?;
    let call = environment.attachment()?;
    let previous = previous_result(configuration)?;
    let (mut all, unreadable) = attached(node, &call, configuration.name()?, HotPlugged::Exclude)?;
    if let Some(error) = unreadable {
        return Err(error);
    }
    all.extend(selected(&call, configuration, previous)?);
    all.iter().try_for_each(|id| compare(node, &environment.for_interface(id), id, previous))
}

/// The interfaces that are in the annotation and in the ADD result: the annotation of a running pod
/// may have been extended since.
fn selected(call: &AttachmentId, configuration: &Configuration, previous: &Value) -> Result<Vec<AttachmentId>, Error> {
    let in_result = pod_interfaces(call, Some(previous));
    let networks = NetworkSelection::read(configuration, &BTreeSet::new())?;
    let interfaces = networks.elements.into_iter().map(|element| element.interface);
    let attached = interfaces.filter(|interface| in_result.contains(interface));
    Ok(attached.map(|interface| AttachmentId { container: call.container.clone(), interface }).collect())
}

/// Succeeds when pods could be attached. Which networks they will select is unknown, and a pod may
/// select none: one unusable network must not make the node unusable for all pods.
///
/// # Errors
/// [`Error::StatusFailed`] with the reason.
pub fn status(node: &Node, configuration: &Configuration) -> Result<(), Error> {
    configuration.require_version(SpecVersion::V1_1_0, "STATUS")?;
    configuration.name()?;
    configuration.require_pod_annotations()?;
    node.check_writable().map_err(|error| Error::status_failed(ErrorCode::NotAvailable, error))
}

/// Whether interfaces count that were attached while the pod ran, and that the runtime does not
/// know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HotPlugged {
    Include,
    Exclude,
}

/// The attachments of the call, by their records, and the error of a record that cannot be read and
/// may belong to it.
fn attached(
    node: &Node,
    call: &AttachmentId,
    name: &str,
    hot_plugged: HotPlugged,
) -> Result<(BTreeSet<AttachmentId>, Option<Error>), Error> {
    let all = node.journal.find(Key::Sandbox(&call.container))?;
    let unreadable = all.unreadable.into_iter().next().map(|unreadable| journal::Error::from(unreadable).into());
    let is_of_call = |record: &&Record| {
        if record.object().is_some() {
            return hot_plugged == HotPlugged::Include;
        }
        record.invoked_ifname.as_ref() == Some(&call.interface) && record.configuration_name.as_deref() == Some(name)
    };
    Ok((all.records.iter().filter(is_of_call).map(|record| record.id.clone()).collect(), unreadable))
}
