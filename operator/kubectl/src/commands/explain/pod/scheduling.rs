//! Causes of a pod that the scheduler places on no node. Pure.

use super::last_resort::not_scheduled;
use crate::commands::explain::finding::Finding;
use crate::commands::names::nearest;
use crate::model::claim::{CLASS, network_of_class};
use crate::model::pod::RESOURCE_PREFIX;
use crate::model::{Objects, Pod, Snapshot};

pub(super) fn cause(snapshot: &Snapshot, pod: &Pod) -> Option<Finding> {
    let message = pod.unscheduled.as_ref()?;
    let closer =
        resource(snapshot, message).or_else(|| class_in_message(snapshot, message)).or_else(|| hugepages(message));
    Some(closer.unwrap_or_else(|| not_scheduled(message)))
}

/// A resource of a network of which no node has enough, or that no node has.
fn resource(snapshot: &Snapshot, message: &str) -> Option<Finding> {
    let (_, rest) = message.split_once(&format!("Insufficient {RESOURCE_PREFIX}"))?;
    let network = rest.split(['.', ',', ' ', ';']).next()?;
    let resource = format!("{RESOURCE_PREFIX}{network}");
    let networks = &snapshot.cache.networks;
    let valid = networks.get(network).map(|network| network.spec.as_ref().ok());
    if valid.is_none() && snapshot.has_read(Objects::Networks) {
        let why = format!("no node has {resource}, because there is no network {network}: {message}");
        let remedy = match nearest(network, networks.keys().map(String::as_str)) {
            Some(nearest) => {
                format!("request {RESOURCE_PREFIX}{nearest} if that network was meant, or create network {network}")
            }
            None => "request a resource of a network: kubectl get usn lists them".to_owned(),
        };
        return Some(Finding::new("UnknownResource", why, remedy));
    }
    let has_devices =
        |valid: &usnet_crds::validate::ValidNetwork| valid.device_plugin.is_some() || valid.resource_claims.is_some();
    if valid.flatten().is_some_and(|valid| !has_devices(valid)) {
        let why =
            format!("no node has {resource}: network {network} has neither spec.devicePlugin nor spec.resourceClaims");
        let remedy = "remove the resource from the limits of the container, or set spec.devicePlugin of the network";
        return Some(Finding::new("NoDevices", why, remedy));
    }
    let why = format!("no node has a free {resource}: {message}");
    let remedy = "raise spec.devicePlugin.devices or spec.resourceClaims.ports of the network, delete other pods, or extend the network to more nodes; kubectl describe node shows what is allocated";
    Some(Finding::new("NoFreeDevice", why, remedy))
}

/// No node has enough hugepages, or the nodes that have are not for the pod.
fn hugepages(message: &str) -> Option<Finding> {
    let (_, rest) = message.split_once("Insufficient hugepages-")?;
    let size = rest.split(['.', ',', ' ', ';']).next()?;
    let why = format!("no node has enough hugepages of {size} for the pod: {message}");
    let remedy = format!(
        "reserve them on the nodes and restart the kubelet there, or request fewer: kubectl describe nodes shows hugepages-{size}; programs with --no-huge, or sockets of Veth ports, need none"
    );
    Some(Finding::new("NoHugepages", why, remedy))
}

fn class_in_message(snapshot: &Snapshot, message: &str) -> Option<Finding> {
    let (_, rest) = message.split_once("device class ")?;
    let (class, _) = rest.split_once(" does not exist")?;
    Some(missing_class(snapshot, class))
}

/// A DeviceClass of a claim that does not exist.
pub(super) fn missing_class(snapshot: &Snapshot, class: &str) -> Finding {
    let networks = &snapshot.cache.networks;
    let network = network_of_class(class).filter(|network| networks.contains_key(*network));
    if let Some(network) = network {
        let why = format!("there is no DeviceClass {class}: network {network} has no spec.resourceClaims");
        let remedy = format!("set spec.resourceClaims of network {network}, such as {{ports: 64}}");
        return Finding::new("DeviceClassMissing", why, remedy);
    }
    let classes = classes(snapshot);
    let remedy = match nearest(class, classes.iter().map(String::as_str)) {
        Some(nearest) => format!(
            "write deviceClassName: {nearest} in the claim or its template if that was meant, and create the pod again"
        ),
        None => "correct deviceClassName in the claim or its template: kubectl get deviceclasses; that of a network is usnet-NETWORK".to_owned(),
    };
    Finding::new(
        "DeviceClassMissing",
        format!("there is no DeviceClass {class}, which a claim of the pod names"),
        remedy,
    )
}

/// Returns a DeviceClass that does not exist, by the networks that have one; `None` if the class
/// exists, or may exist.
pub(super) fn unknown_class<'a>(
    snapshot: &Snapshot,
    mut classes_of_claim: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    if !snapshot.has_read(Objects::Networks) {
        return None;
    }
    let known = classes(snapshot);
    let is_meant =
        |class: &str| network_of_class(class).is_some() || nearest(class, known.iter().map(String::as_str)).is_some();
    classes_of_claim.find(|class| !known.iter().any(|known| known == class) && is_meant(class))
}

/// The DeviceClasses of usnet, which the controller keeps.
fn classes(snapshot: &Snapshot) -> Vec<String> {
    let has_class = |network: &usnet_controller::cache::Network| {
        network.spec.as_ref().is_ok_and(|valid| valid.resource_claims.is_some())
    };
    let of_networks = snapshot.cache.networks.iter().filter(|(_, network)| has_class(network));
    of_networks.map(|(name, _)| format!("{CLASS}-{name}")).chain([CLASS.to_owned()]).collect()
}
