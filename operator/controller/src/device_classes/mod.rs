//! A DeviceClass for each network with resource claims (IO; the [`class`] itself is pure), in a
//! task of its own: where the component `resource-claims` is not installed, or Kubernetes is too
//! old, its failures concern nothing else. It watches nothing before there is such a network, or a
//! class of an earlier one.

mod class;

use crate::cache::Cache;
use crate::leader::REQUEST_TIMEOUT;
use crate::write::request::FIELD_MANAGER;
use class::{DeviceClass, classes};
use futures::StreamExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::sync::watch::error::RecvError;
use tokio::time::{sleep, timeout};
use usnet_common::api::any::is_any;
use usnet_common::api::error::is_not_found;
use usnet_common::api::reflector::Objects;
use usnet_common::api::watch::watch;
use usnet_common::display::FirstFailure;
use usnet_crds::NetworkName;
use usnet_crds::nad::NETWORK_LABEL;

/// The interval between two attempts to write.
const RETRY: Duration = Duration::from_secs(5);

/// The networks that have resource claims, with their uids.
pub type Claimable = BTreeMap<NetworkName, String>;

/// The networks of the cluster that have resource claims. A network that is being deleted gets no
/// new pods.
pub fn claimable(cache: &Cache) -> Claimable {
    let networks = cache.networks.values().filter(|network| !network.is_deleting());
    let claimable = networks.filter_map(|network| {
        let valid = network.spec.as_ref().ok()?;
        valid.resource_claims.map(|_| (valid.name.clone(), network.uid.clone()))
    });
    claimable.collect()
}

/// Why a class was not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server refused DeviceClass {class}, or could not be reached")]
    Request { class: String, source: Box<kube::Error> },
    #[error("the API server does not answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
    #[error(
        "DeviceClass {0} exists and is not owned by usnet; it is not changed: remove it, or claim devices by the class usnet and a selector"
    )]
    Taken(String),
}

struct Classes {
    api: Api<DeviceClass>,
    present: Objects<DeviceClass>,
    /// Whether Kubernetes drops the extended resource of a class.
    drops_resource: bool,
}

/// Writes the classes of the networks, indefinitely. `networks` is none while this replica is not
/// the leader.
pub async fn publish(watcher: Client, writer: Client, mut networks: Receiver<Option<Claimable>>) -> Infallible {
    let watched = Api::<DeviceClass>::all(watcher);
    if wait_until_needed(&watched, &mut networks).await.is_err() {
        return pending().await;
    }
    let events = watch(watched, watcher::Config::default());
    tokio::pin!(events);
    let mut classes = Classes { api: Api::all(writer), present: Objects::default(), drops_resource: false };
    let (mut failure, mut watch_failure) = (FirstFailure::default(), FirstFailure::default());
    loop {
        let claimable = networks.borrow_and_update().clone();
        let result = match &claimable {
            Some(claimable) => classes.reconcile(claimable).await,
            None => Ok(()),
        };
        let failed = failure.log(&result, "cannot keep the DeviceClasses of networks; retrying");
        tokio::select! {
            event = events.next() => match event {
                Some(event) => {
                    let event = event.map(|event| classes.present.observe(event));
                    watch_failure.log(&event, "cannot watch DeviceClasses (is config/components/resource-claims installed?); retrying");
                }
                None => pending().await,
            },
            changed = networks.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            () = sleep(RETRY), if failed => {}
        }
    }
}

/// The last network may have lost its resource claims while no replica was the leader: each term
/// begins by looking for its class.
async fn wait_until_needed(
    api: &Api<DeviceClass>,
    networks: &mut Receiver<Option<Claimable>>,
) -> Result<(), RecvError> {
    loop {
        let is_needed = networks.wait_for(Option::is_some).await?.as_ref().is_some_and(|all| !all.is_empty());
        if is_needed {
            return Ok(());
        }
        let has_ended_or_begun = |networks: &Option<Claimable>| networks.as_ref().is_none_or(|all| !all.is_empty());
        tokio::select! {
            true = is_any(api, ListParams::default().labels(NETWORK_LABEL)) => return Ok(()),
            changed = networks.wait_for(has_ended_or_begun) => drop(changed?),
        }
    }
}

impl Classes {
    async fn reconcile(&mut self, networks: &Claimable) -> Result<(), Error> {
        if !self.present.is_complete() {
            return Ok(());
        }
        let desired = classes(networks);
        let mut failed = Ok(());
        for (name, class) in &desired {
            let result = match self.present.by_name.get(name) {
                Some(present) if present.matches(class, self.drops_resource) => Ok(()),
                Some(present) if !present.is_generated() => Err(Error::Taken(name.clone())),
                _ => self.apply(name, class).await,
            };
            failed = failed.and(result);
        }
        let generated = self.present.by_name.iter().filter(|(_, class)| class.is_generated());
        let obsolete: Vec<String> =
            generated.map(|(name, _)| name).filter(|name| !desired.contains_key(*name)).cloned().collect();
        for name in obsolete {
            let result = self.delete(&name).await;
            failed = failed.and(result);
        }
        failed
    }

    async fn apply(&mut self, name: &str, class: &DeviceClass) -> Result<(), Error> {
        let body = json!({
            "apiVersion": DeviceClass::api_version(&()), "kind": DeviceClass::kind(&()),
            "metadata": class.metadata, "spec": class.spec,
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let written = request(name, self.api.patch(name, &parameters, &Patch::Apply(body))).await?;
        self.drops_resource = written.spec.extended_resource_name.is_none();
        tracing::info!(class = name, "wrote the DeviceClass of a network");
        self.present.by_name.insert(name.to_owned(), written);
        Ok(())
    }

    async fn delete(&mut self, name: &str) -> Result<(), Error> {
        match request(name, self.api.delete(name, &DeleteParams::default())).await {
            Ok(_) => tracing::info!(class = name, "deleted the DeviceClass of a network"),
            Err(Error::Request { source, .. }) if is_not_found(&source) => {}
            Err(error) => return Err(error),
        }
        self.present.by_name.remove(name);
        Ok(())
    }
}

async fn request<T>(class: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    let answer = timeout(REQUEST_TIMEOUT, request).await.map_err(|_| Error::Timeout)?;
    answer.map_err(|error| Error::Request { class: class.to_owned(), source: Box::new(error) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::watch::channel;
    use usnet_common::testing::api_server::{Answer, ApiServer};

    /// What the leader asks for in a cluster without networks with resource claims.
    async fn requests_without_networks(present: Option<DeviceClass>) -> Vec<String> {
        let server = ApiServer::choosing(move |line| match &present {
            _ if line.contains("watch=") => None,
            None => Some(Answer::new(403, json!({"kind": "Status", "status": "Failure", "code": 403}).to_string())),
            Some(class) if line.starts_with("DELETE") => Some(Answer::ok(json!(class).to_string())),
            Some(class) => {
                let list = json!({
                    "apiVersion": DeviceClass::api_version(&()), "kind": "DeviceClassList",
                    "metadata": {"resourceVersion": "1"}, "items": [class],
                });
                Some(Answer::ok(list.to_string()))
            }
        });
        let (sender, networks) = channel(None);
        let publish = publish(server.client(), server.client(), networks);
        tokio::pin!(publish);
        assert!(timeout(RETRY / 100, publish.as_mut()).await.is_err());
        assert_eq!(server.requests(), [""; 0], "it is not the leader");
        sender.send_replace(Some(Claimable::new()));
        assert!(timeout(RETRY / 20, publish.as_mut()).await.is_err());
        server.requests()
    }

    #[tokio::test(start_paused = true)]
    async fn a_class_that_was_left_is_deleted() {
        let left = classes(&class::tests::claimable("blue")).remove("usnet-blue").unwrap();
        let requests = requests_without_networks(Some(left)).await;
        let written: Vec<&String> = requests.iter().filter(|line| !line.starts_with("GET")).collect();
        assert!(
            matches!(written[..], [line] if line.starts_with("DELETE") && line.contains("usnet-blue")),
            "{requests:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_right_to_list_classes_it_is_asked_once() {
        let requests = requests_without_networks(None).await;
        assert_eq!(requests.len(), 1, "{requests:?}");
    }
}
