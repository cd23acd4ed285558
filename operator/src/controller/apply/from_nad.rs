//! Makes and mends networks that follow from definitions. A network of a person that came meanwhile is never touched.

use super::FIELD_MANAGER;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use usnet_crds::definition::FROM_NAD_LABEL;
use usnet_crds::{UserspaceNetwork, UserspaceNetworkSpec};

/// Makes the network when it has no uid yet, and otherwise puts the spec back, unless it is another network or lost its label meanwhile.
pub(super) async fn write(
    client: &Client,
    name: &str,
    uid: Option<&str>,
    spec: &UserspaceNetworkSpec,
) -> Result<(), kube::Error> {
    let networks: Api<UserspaceNetwork> = Api::all(client.clone());
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let Some(uid) = uid else {
        let mut network = UserspaceNetwork::new(name, spec.clone());
        network.labels_mut().insert(FROM_NAD_LABEL.to_owned(), "true".to_owned());
        return unless_there(networks.create(&parameters, &network).await.map(drop));
    };
    let Some(mut network) = networks.get_opt(name).await? else { return Ok(()) };
    if network.uid().as_deref() != Some(uid) || !network.labels().contains_key(FROM_NAD_LABEL) {
        return Ok(());
    }
    // With the resource version that was read: whoever writes in between makes this fail, and the next pass looks again.
    network.spec = spec.clone();
    networks.replace(name, &parameters, &network).await.map(drop)
}

/// Somebody was quicker, and the watch will tell who.
fn unless_there(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other,
    }
}
