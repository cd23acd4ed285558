//! A call of the legacy plugin, as libcni keeps it. Pure.
//!
//! The format is that of `cachedInfo` in `libcni/api.go` of containernetworking/cni, kind
//! `cniCacheV1`, which it writes after an ADD and removes after a DEL. The file is named
//! `<network>-<container>-<interface>`.

use super::problem::Problem;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use usnet_crds::legacy::{CONFIG_MAX, PLUGIN};
use usnet_dataplane::attachment::Pod;
use usnet_plugin::protocol::configuration::Configuration;

const KIND: &str = "cniCacheV1";
/// The keys that a plugin of a list has from the list.
const OF_LIST: [&str; 2] = ["cniVersion", "name"];

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CachedCall {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    pub(super) container_id: String,
    #[serde(default)]
    pub(super) if_name: String,
    /// In base64, as Go writes bytes.
    #[serde(default)]
    config: String,
    /// Since version 1.2 of libcni.
    #[serde(default)]
    netns: PathBuf,
    #[serde(default)]
    cni_args: Vec<(String, String)>,
    #[serde(default)]
    pub(super) result: Map<String, Value>,
}

impl CachedCall {
    /// A call for this interface of a container whose id begins like this.
    pub(super) fn is_for(&self, short_id: &str, interface: &str) -> bool {
        self.kind == KIND && self.container_id.starts_with(short_id) && self.if_name == interface
    }

    /// The configuration of our plugin, which has the name of the legacy one; none if the call was
    /// for another plugin.
    pub(super) fn configuration(&self) -> Result<Option<Configuration>, Problem> {
        let damaged = || Problem::CachedConfiguration;
        let bytes = STANDARD.decode(&self.config).map_err(|_| damaged())?;
        if bytes.len() > CONFIG_MAX {
            return Err(damaged());
        }
        let whole: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let Some(plugin) = plugin_of(whole) else { return Ok(None) };
        Configuration::parse(Value::Object(plugin).to_string().as_bytes()).map(Some).map_err(|_| damaged())
    }

    /// The network namespace of the pod. Before version 1.2 only the result names it.
    pub(super) fn network_namespace(&self) -> Option<PathBuf> {
        let known = Some(&self.netns).filter(|path| !path.as_os_str().is_empty()).cloned();
        known
            .or_else(|| self.entry_in_pod()?.get("sandbox")?.as_str().map(PathBuf::from))
            .filter(|path| path.is_absolute())
    }

    /// The interface in the pod according to the result.
    pub(super) fn entry_in_pod(&self) -> Option<&Value> {
        let entries = self.result.get("interfaces")?.as_array()?;
        entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(self.if_name.as_str()))
    }

    pub(super) fn pod(&self) -> Result<Pod, Problem> {
        let text = |name: &'static str| {
            let found = self.cni_args.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            found.filter(|value| !value.is_empty()).ok_or(Problem::NoPod { argument: name })
        };
        let uid = text("K8S_POD_UID")?.parse().map_err(|_| Problem::NoPod { argument: "K8S_POD_UID" })?;
        Ok(Pod { namespace: text("K8S_POD_NAMESPACE")?, name: text("K8S_POD_NAME")?, uid })
    }
}

/// Our plugin in a configuration, which may be a list of plugins.
fn plugin_of(whole: Map<String, Value>) -> Option<Map<String, Value>> {
    let is_ours = |plugin: &Map<String, Value>| {
        plugin.iter().any(|(key, value)| key.eq_ignore_ascii_case("type") && value.as_str() == Some(PLUGIN))
    };
    let Some(plugins) = whole.get("plugins").and_then(Value::as_array) else { return Some(whole).filter(is_ours) };
    let mut plugin = plugins.iter().filter_map(Value::as_object).find(|plugin| is_ours(plugin))?.clone();
    for key in OF_LIST {
        plugin.extend(whole.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Some(plugin)
}

/// Whether a file of this name may be that of a call for the interface of this container.
pub(super) fn may_be_for(file: &Path, short_id: &str, interface: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(&format!("-{interface}")) && name.contains(&format!("-{short_id}"))
}
