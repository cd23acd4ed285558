//! DEL: detaches an interface of a pod. It succeeds even if everything is gone already, because
//! otherwise the runtime could not remove the pod.

use crate::attachment::detach::{Detachment, Outcome};
use crate::attachment::ipam::Ipam;
use crate::attachment::node::Node;
use crate::error::{Error, causes};
use crate::legacy::state::LegacyState;
use crate::protocol::configuration::Configuration;
use crate::protocol::environment::{Environment, EnvironmentError};
use serde_json::Value;
use usnet_dataplane::network_file::NetworkFile;

/// A problem that does not make DEL fail, for the runtime's log.
pub type Note = String;

/// Detaches the interface that the environment names.
///
/// # Errors
/// When something remains that only another DEL can remove.
pub fn del(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Option<Note>, Error> {
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
    match Detachment::new(node, environment, &locked, record).run()? {
        Outcome::Gone => Ok(None),
        Outcome::PortRemovalDeferred(error) => Ok(Some(format!("the agent removes the port later: {}", note(&error)))),
    }
}

/// Without a record nothing is attached. Only if the journal was lost can IPAM still hold an
/// address, so it is released.
fn release_unrecorded(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<(), Error> {
    match ipam(node, configuration) {
        Some(configuration) => Ok(Ipam::find(&configuration, environment)?.release()?),
        None => Ok(()),
    }
}

/// The configuration of the IPAM plugin that ADD would call, as far as it is still known.
pub(crate) fn ipam(node: &Node, configuration: &Configuration) -> Option<Value> {
    let network = configuration.network().ok();
    let file = network.and_then(|network| node.networks.read(&network).ok().flatten());
    if let Some(NetworkFile::Programmed(programmed)) = file
        && let Some(ipam) = &programmed.network.ipam
    {
        return Some(configuration.for_ipam(programmed.network.name.as_str(), ipam));
    }
    let own = configuration.ipam().ok().flatten()?;
    Some(configuration.for_ipam(configuration.name().ok()?, &own))
}

/// An error with its causes, for the runtime's log.
pub(crate) fn note(error: &dyn std::error::Error) -> Note {
    let causes = causes(error);
    if causes.is_empty() { error.to_string() } else { format!("{error}: {causes}") }
}
