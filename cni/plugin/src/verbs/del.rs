//! DEL: detaches an interface of a pod. It succeeds even if everything is gone already, because
//! otherwise the runtime could not remove the pod.

use crate::attachment::detach::Detachment;
use crate::attachment::ipam::IpamPlugin;
use crate::attachment::node::Node;
use crate::error::{Error, with_causes};
use crate::legacy::state::LegacyState;
use crate::protocol::configuration::{Configuration, Target};
use crate::protocol::environment::{Environment, EnvironmentError};
use crate::verbs::ipam::configured_ipam;
use crate::verbs::{Note, history};
use std::time::Instant;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::call_log::Verb;

/// Detaches the interface that the environment names.
///
/// # Errors
/// Something remains that only another DEL can remove.
pub fn del(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Option<Note>, Error> {
    let started = Instant::now();
    environment.require_for_del()?;
    let id = match environment.attachment() {
        Ok(id) => id,
        // ADD rejects such a name, so it was never attached; an error here would block the pod's
        // deletion indefinitely.
        Err(error @ EnvironmentError::Identifier { .. }) => return Ok(Some(with_causes(&error))),
        Err(error) => return Err(error.into()),
    };
    let locked = node.journal.lock(&id)?;
    let Some(record) = locked.read()? else {
        // A call that was killed while writing its first record left a partial file.
        locked.remove()?;
        if let Some(state) = LegacyState::find(&node.paths, &id) {
            return Ok(state.remove(node, environment, configuration, &id)?);
        }
        return Ok(release_unrecorded(node, environment, configuration).err().map(|error| with_causes(&error)));
    };
    if let Some(reason) = other_caller(configuration, &record) {
        return Ok(Some(format!("interface {} {reason}: it stays attached", id.interface)));
    }
    let detached = Detachment::new(node, environment, &locked, record.clone()).run();
    history::detached(node, Verb::Del, &record, &detached, started);
    Ok(detached?.note())
}

/// Why the interface belongs to another caller. A caller rolls back an ADD that failed because the
/// name of the interface is taken, and the interface that has the name must stay.
fn other_caller(configuration: &Configuration, record: &Record) -> Option<String> {
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

/// Releases the addresses of an interface without a record: nothing is attached, but if the journal
/// was lost IPAM still holds an address.
fn release_unrecorded(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<(), Error> {
    match configured_ipam(node, configuration)? {
        Some(configuration) => Ok(IpamPlugin::find(&configuration, environment)?.release()?),
        None => Ok(()),
    }
}
