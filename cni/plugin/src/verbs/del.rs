//! DEL: detaches an interface of a pod. It succeeds even if everything is gone already, because
//! otherwise the runtime could not remove the pod.

use crate::attachment::admission::find_available;
use crate::attachment::detach::Detachment;
use crate::attachment::ipam::{Ipam, configuration_for};
use crate::attachment::node::Node;
use crate::error::{Error, with_causes};
use crate::legacy::state::LegacyState;
use crate::protocol::configuration::{Configuration, Target};
use crate::protocol::environment::{Environment, EnvironmentError};
use crate::verbs::history;
use serde_json::Value;
use std::time::Instant;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::call_log::Verb;
use usnet_dataplane::network_file::NetworkFile;

/// A problem that does not make DEL fail, for the runtime's log.
pub type Note = String;

/// Detaches the interface that the environment names.
///
/// # Errors
/// When something remains that only another DEL can remove.
pub fn del(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Option<Note>, Error> {
    let started = Instant::now();
    environment.require_for_del()?;
    let id = match environment.attachment() {
        Ok(id) => id,
        // ADD rejects such a name, so it was never attached; an error here would block the pod's
        // deletion indefinitely.
        Err(error @ EnvironmentError::Identifier { .. }) => return Ok(Some(note(&error))),
        Err(error) => return Err(error.into()),
    };
    let locked = node.journal.lock(&id)?;
    let Some(record) = locked.read()? else {
        // A call that was killed while writing its first record left a partial file.
        locked.remove()?;
        if let Some(state) = LegacyState::find(&node.roots, &id) {
            return Ok(state.remove(node, environment, configuration, &id)?);
        }
        return Ok(release_unrecorded(node, environment, configuration).err().map(|error| note(&error)));
    };
    if let Some(reason) = not_attached_by(configuration, &record) {
        return Ok(Some(format!("interface {} {reason}: it stays attached", id.interface)));
    }
    let detached = Detachment::new(node, environment, &locked, record.clone()).run();
    history::detached(node, Verb::Del, &record, &detached, started);
    Ok(detached?.note())
}

/// Why the interface is another caller's. A caller rolls back an ADD that failed because the
/// interface's name is taken: what has the name stays.
fn not_attached_by(configuration: &Configuration, record: &Record) -> Option<String> {
    match configuration.target() {
        Ok(Target::Network(named)) if named != record.network => {
            return Some(format!(
                "is attached to network {:?} and not to {:?}, whose configuration DEL was called with",
                record.network.as_str(),
                named.as_str()
            ));
        }
        _ => {}
    }
    // A call for `eth0` ends the sandbox with all of its interfaces.
    let is_other =
        !configuration.uses_pod_annotations() && configuration.name().ok() != record.configuration_name.as_deref();
    (record.object().is_some() && is_other).then(|| "was attached for a UserspaceAttachment".to_owned())
}

/// Without a record nothing is attached. Only if the journal was lost can IPAM still hold an
/// address, so it is released.
fn release_unrecorded(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<(), Error> {
    match ipam(node, configuration)? {
        Some(configuration) => Ok(Ipam::find(&configuration, environment)?.release()?),
        None => Ok(()),
    }
}

/// The configuration of the IPAM plugin that ADD would call, as far as it is still known.
///
/// # Errors
/// When ADD would reject it.
pub(crate) fn ipam(node: &Node, configuration: &Configuration) -> Result<Option<Value>, Error> {
    let Ok(target) = configuration.target() else { return Ok(None) };
    let (name, file) = match &target {
        Target::Network(name) => (name.clone(), node.networks.read(name).ok().flatten()),
        Target::Bridge(legacy) => {
            let found = find_available(&node.networks, &target).ok();
            let name = found.as_ref().map_or_else(|| legacy.network_name(), |found| found.network.name.clone());
            (name, found.map(NetworkFile::Programmed))
        }
    };
    let network = file.as_ref().and_then(|file| match file {
        NetworkFile::Programmed(programmed) => Some(&*programmed.network),
        NetworkFile::Draining { .. } | NetworkFile::Unavailable { .. } => None,
    });
    configuration_for(node, configuration, &target, (&name, network))
}

/// An error with its causes, for the runtime's log.
pub(crate) fn note(error: &dyn std::error::Error) -> Note {
    with_causes(error)
}
