//! GC: detaches what the runtime does not list. Only attachments of this configuration's name are
//! considered: a runtime keeps its list per name, and configurations of other names may join the
//! same network.

use crate::attachment::detach::Detachment;
use crate::attachment::ipam::IpamPlugin;
use crate::attachment::node::Node;
use crate::error::{Error, with_causes};
use crate::protocol::configuration::{Configuration, ConfigurationError, Target, ValidAttachments};
use crate::protocol::environment::Environment;
use crate::protocol::version::SpecVersion;
use crate::verbs::ipam::configured_ipam;
use crate::verbs::{Note, history};
use serde_json::{Value, json};
use std::time::Instant;
use usnet_crds::NetworkName;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::call_log::Verb;
use usnet_dataplane::sandboxes::Sandboxes;

/// Detaches what is not among the configuration's valid attachments. libcni omits an empty list, so
/// a missing list may mean "none" or "unknown": then only attachments whose network namespace is
/// gone are detached.
///
/// # Errors
/// The error of the first attachment that could not be detached. All others are tried.
pub fn collect(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<Option<Note>, Error> {
    environment.require_for_gc()?;
    configuration.require_version(SpecVersion::V1_1_0, "GC")?;
    let name = configuration.name()?;
    let valid = configuration.valid_attachments()?;
    let network = if configuration.uses_pod_annotations() { None } else { network(configuration)? };
    let is_stale = |record: &Record| {
        // The runtime does not know the attachments of resource claims.
        record.id.container.claim().is_none()
            && record.configuration_name.as_deref() == Some(name)
            && network.as_ref().is_none_or(|network| record.network == *network)
            && match &valid {
                Some(valid) => !valid.contains(&key(&record.call())),
                None => !record.network_namespace.exists(),
            }
    };
    let (mut notes, mut failed) = (Vec::new(), None);
    let all = node.journal.records()?;
    notes.extend(all.unreadable.iter().map(|unreadable| format!("not examined: {}", unreadable.error)));
    for record in all.records.iter().filter(|record| is_stale(record)) {
        match detach(node, environment, record) {
            Ok(note) => notes.extend(note),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    if let Some(valid) = valid {
        let forwarded = collect_addresses(node, environment, configuration, valid);
        failed = failed.or(forwarded.err());
    }
    // A runtime that calls for `eth0` may have lost a pod without a DEL.
    if let Err(error) = Sandboxes::new(&node.paths).remove_gone() {
        notes.push(with_causes(&error));
    }
    match failed {
        Some(error) => Err(error),
        None => Ok((!notes.is_empty()).then(|| notes.join("; "))),
    }
}

/// The network that the configuration names; none if it names a bridge.
fn network(configuration: &Configuration) -> Result<Option<NetworkName>, ConfigurationError> {
    match configuration.target()? {
        Target::Network(network) => Ok(Some(network)),
        Target::Bridge(_) => Ok(None),
    }
}

fn detach(node: &Node, environment: &Environment, record: &Record) -> Result<Option<Note>, Error> {
    let environment = environment.for_stale_attachment(&record.id, &record.network_namespace);
    let locked = node.journal.lock(&record.id)?;
    let Some(record) = locked.read()? else { return Ok(None) };
    let started = Instant::now();
    let detached = Detachment::new(node, &environment, &locked, record.clone()).run();
    history::detached(node, Verb::Gc, &record, &detached, started);
    Ok(detached?.note())
}

/// Delegates GC to the IPAM plugin. If it stores addresses under the network's name, attachments of
/// other configurations on that network are valid as well.
fn collect_addresses(
    node: &Node,
    environment: &Environment,
    configuration: &Configuration,
    mut valid: ValidAttachments,
) -> Result<(), Error> {
    let Some(mut ipam) = configured_ipam(node, configuration)? else { return Ok(()) };
    let name = |configuration: &Value| configuration.get("name").cloned();
    let all = node.journal.records()?;
    let shares = |record: &&Record| record.ipam.as_ref().is_some_and(|other| name(other) == name(&ipam));
    valid.extend(all.records.iter().filter(shares).map(|record| key(&record.id)));
    // An attachment whose record cannot be read may have an address there.
    valid.extend(all.unreadable.iter().map(|unreadable| key(&unreadable.id)));
    let entry = |(container, interface): &(String, String)| json!({"containerID": container, "ifname": interface});
    let entries: Vec<Value> = valid.iter().map(entry).collect();
    if let Some(parts) = ipam.as_object_mut() {
        for key in Configuration::VALID_ATTACHMENTS {
            parts.insert(key.to_owned(), entries.clone().into());
        }
    }
    Ok(IpamPlugin::find(&ipam, environment)?.collect_garbage()?)
}

fn key(id: &AttachmentId) -> (String, String) {
    (id.container.to_string(), id.interface.to_string())
}
