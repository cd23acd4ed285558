//! The connection to the API server by a kubeconfig, and lists of objects.

use crate::error::Error;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Client, Config, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::time::Duration;
use usnet_crds::network::SHARED_NAMESPACE;

/// The maximum number of objects of a response: a large cluster has tens of thousands of pods.
const PAGE_SIZE: u32 = 500;

/// The options that choose a cluster and a user.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ConnectionOptions {
    /// The kubeconfig file; default $KUBECONFIG, or ~/.kube/config.
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; default its current context.
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace of pods; default the namespace of the context.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
    /// The namespace that usnet is installed in.
    #[arg(long, global = true, value_name = "NAME", default_value = SHARED_NAMESPACE)]
    pub usnet_namespace: String,
    /// The time limit of a response, in seconds.
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub request_timeout: u64,
}

/// The API server, as the user of the kubeconfig.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub client: Client,
    /// The client of streams, which are programs in containers, and logs. A stream may be silent
    /// for any time, which the connections of the other client may not.
    pub streams: Client,
    /// The address of the API server.
    pub server: String,
    /// The namespace of pods that the user chose; `None` for that of the context.
    pub chosen_namespace: Option<String>,
    pub default_namespace: String,
    pub usnet_namespace: String,
    pub timeout: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    Cluster,
    Namespace(&'a str),
}

/// Returns the plural name of a kind, and the request for its objects in this scope.
fn request_of<K: Resource<DynamicType = ()>>(scope: Scope<'_>) -> (String, Request) {
    let namespace = match scope {
        Scope::Cluster => None,
        Scope::Namespace(name) => Some(name),
    };
    (K::plural(&()).into_owned(), Request::new(K::url_path(&(), namespace)))
}

/// A response to a list request. Objects are parsed one by one, because one of them may be of a
/// later release.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMetadata,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// The name of an object whose other fields cannot be parsed.
#[derive(Deserialize)]
struct NameOnly {
    metadata: ObjectName,
}

#[derive(Deserialize)]
struct ObjectName {
    #[serde(default)]
    name: String,
}

#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub objects: Vec<T>,
    /// The names of objects that could not be parsed, with the problem.
    pub unreadable: Vec<(String, String)>,
}

impl Cluster {
    /// Reads the kubeconfig. Nothing is sent yet.
    pub(crate) async fn connect(options: &ConnectionOptions) -> Result<Self, Error> {
        let chosen = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
        let config = match &options.kubeconfig {
            Some(path) => match Kubeconfig::read_from(path) {
                Ok(read) => Config::from_custom_kubeconfig(read, &chosen).await,
                Err(error) => Err(error),
            },
            None => Config::from_kubeconfig(&chosen).await,
        };
        let config = config.map_err(|error| Error::Kubeconfig(Box::new(error)))?;
        Self::new(config, options, Duration::from_secs(options.request_timeout))
    }

    /// Creates the clients. `timeout` is the time limit of a response.
    pub(super) fn new(mut config: Config, options: &ConnectionOptions, timeout: Duration) -> Result<Self, Error> {
        // A user waits: there is one attempt, within the time limit.
        config.default_retry = false;
        config.connect_timeout = Some(timeout);
        // Time in which a connection was not in use does not count.
        config.reset_reader_on_write = true;
        let (server, default_namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let client = |read_timeout| {
            let mut config = config.clone();
            config.read_timeout = read_timeout;
            Client::try_from(config).map_err(|error| Error::Client(Box::new(error)))
        };
        Ok(Self {
            client: client(Some(timeout))?,
            streams: client(None)?,
            server,
            chosen_namespace: options.namespace.clone(),
            default_namespace,
            usnet_namespace: options.usnet_namespace.clone(),
            timeout,
        })
    }

    /// Returns the same API server, for programs that take this long before they print something.
    pub(crate) fn with_patience(&self, patience: Duration) -> Self {
        Self { timeout: self.timeout + patience, ..self.clone() }
    }

    /// Returns the namespace that the user chose, or else that of the context.
    pub(crate) fn namespace(&self) -> &str {
        self.chosen_namespace.as_deref().unwrap_or(&self.default_namespace)
    }

    /// Lists all objects of a kind, and converts each as soon as it is parsed.
    pub(crate) async fn list<K, T>(
        &self,
        scope: Scope<'_>,
        fields: Option<&str>,
        convert: impl Fn(K) -> T,
    ) -> Result<Listed<T>, Error>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let (what, request) = request_of::<K>(scope);
        let mut listed = Listed { objects: Vec::new(), unreadable: Vec::new() };
        let mut params =
            ListParams { limit: Some(PAGE_SIZE), field_selector: fields.map(str::to_owned), ..ListParams::default() };
        loop {
            let page = request.list(&params).map_err(|error| failed(&what, kube::Error::BuildRequest(error)))?;
            let response = tokio::time::timeout(self.timeout, self.client.request_text(page)).await;
            let timeout = |_| Error::Timeout { what: what.clone(), after: self.timeout };
            let text = response.map_err(timeout)?.map_err(|error| failed(&what, error))?;
            let page: Page<'_> =
                serde_json::from_str(&text).map_err(|error| failed(&what, kube::Error::SerdeError(error)))?;
            for item in page.items {
                match serde_json::from_str::<K>(item.get()) {
                    Ok(object) => listed.objects.push(convert(object)),
                    Err(error) => listed.unreadable.push((name_of(item), error.to_string())),
                }
            }
            match page.metadata.next.filter(|next| !next.is_empty()) {
                Some(next) => params.continue_token = Some(next),
                None => return Ok(listed),
            }
        }
    }

    /// Lists all objects at a path of the API, unparsed. Errors name them as `what`.
    pub(crate) async fn list_raw(&self, what: &str, path: &str) -> Result<Vec<Value>, Error> {
        let request = Request::new(path);
        let mut params = ListParams { limit: Some(PAGE_SIZE), ..ListParams::default() };
        let mut objects = Vec::new();
        loop {
            let page = request.list(&params).map_err(|error| failed(what, kube::Error::BuildRequest(error)))?;
            let response = tokio::time::timeout(self.timeout, self.client.request::<Value>(page)).await;
            let timeout = |_| Error::Timeout { what: what.to_owned(), after: self.timeout };
            let mut page = response.map_err(timeout)?.map_err(|error| failed(what, error))?;
            if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
                objects.extend(items);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|next| !next.is_empty()) {
                Some(next) => params.continue_token = Some(next.to_owned()),
                None => return Ok(objects),
            }
        }
    }

    /// Reads one object; `None` if it does not exist.
    pub(crate) async fn get<K>(&self, scope: Scope<'_>, name: &str) -> Result<Option<K>, Error>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let (what, request) = request_of::<K>(scope);
        let request = request.get(name, &kube::api::GetParams::default());
        let request = request.map_err(|error| failed(&what, kube::Error::BuildRequest(error)))?;
        let response = tokio::time::timeout(self.timeout, self.client.request::<K>(request)).await;
        match response.map_err(|_| Error::Timeout { what: what.clone(), after: self.timeout })? {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(failed(&what, error)),
        }
    }
}

fn failed(what: &str, error: kube::Error) -> Error {
    Error::of_request(what, error)
}

fn name_of(item: &RawValue) -> String {
    serde_json::from_str::<NameOnly>(item.get()).map(|named| named.metadata.name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Namespace;
    use usnet_common::testing::api_server::{Answer, ApiServer};

    fn cluster(server: &ApiServer) -> Cluster {
        Cluster {
            client: server.client(),
            server: String::new(),
            streams: server.client(),
            chosen_namespace: None,
            default_namespace: "default".to_owned(),
            usnet_namespace: "usnet-system".to_owned(),
            timeout: Duration::from_secs(5),
        }
    }

    fn page(names: &[&str], next: &str) -> Answer {
        let item = |name: &&str| format!(r#"{{"metadata": {{"name": "{name}"}}}}"#);
        let items: Vec<_> = names.iter().map(item).collect();
        Answer::ok(format!(
            r#"{{"apiVersion": "v1", "kind": "NamespaceList", "metadata": {{"continue": "{next}"}}, "items": [{}]}}"#,
            items.join(",")
        ))
    }

    #[tokio::test]
    async fn all_pages_are_read_and_an_object_that_cannot_be_parsed_is_named() {
        let odd = Answer::ok(
            r#"{"metadata": {}, "items": [{"metadata": {"name": "c"}}, {"metadata": {"name": "d"}, "spec": 7}]}"#
                .to_owned(),
        );
        let server = ApiServer::answering(vec![page(&["a", "b"], "more"), odd]);
        let listed = cluster(&server)
            .list(Scope::Cluster, None, |namespace: Namespace| namespace.metadata.name.unwrap_or_default())
            .await
            .unwrap();
        assert_eq!(listed.objects, ["a", "b", "c"]);
        assert_eq!(listed.unreadable.len(), 1);
        assert_eq!(listed.unreadable[0].0, "d");
        let requests = server.requests();
        assert!(requests[1].contains("continue=more") && requests[1].contains("limit=500"), "{requests:?}");
    }

    #[tokio::test]
    async fn a_forbidden_list_is_reported_as_missing_permission() {
        let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}"#;
        let server = ApiServer::answering(vec![Answer::new(403, status.to_owned())]);
        let error = cluster(&server).list(Scope::Cluster, None, |namespace: Namespace| namespace).await.unwrap_err();
        assert!(matches!(error, Error::Forbidden { .. }), "{error}");
    }
}
