//! The file by which the controller tells the supervisor what to run: a key of the ConfigMap that
//! the engine's pods mount.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use usnet_crds::names::fnv1a;
use usnet_crds::problem::InvalidSpec;
use usnet_crds::userspace_engine::spec::EngineUpdateSpec;
use usnet_crds::userspace_engine::validate::{ValidEngine, validate};
use usnet_crds::{EngineKind, UserspaceEngineSpec};

/// The key of the ConfigMap, which is the name of the file.
pub const FILE: &str = "engine.json";

/// The variable with what the pod was created with. The file may be older, because kubelet keeps a
/// copy, and newer, because it changes while the pod runs.
pub const VARIABLE: &str = "USNET_ENGINE_SETTINGS";

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The name of the UserspaceEngine.
    pub name: String,
    /// Its spec.
    pub spec: UserspaceEngineSpec,
}

/// The hash of everything that reaches a running engine by a restart alone.
pub fn restart_hash(spec: &UserspaceEngineSpec) -> String {
    hash(&restarting(spec))
}

/// The hash of everything that needs another pod: the image of a pod can be exchanged.
pub fn pod_hash(spec: &UserspaceEngineSpec) -> String {
    hash(&UserspaceEngineSpec { image: String::new(), ..restarting(spec) })
}

/// The spec without what reaches a running engine.
fn restarting(spec: &UserspaceEngineSpec) -> UserspaceEngineSpec {
    let mut restarting =
        UserspaceEngineSpec { node_selector: None, update: EngineUpdateSpec::default(), ..spec.clone() };
    if spec.engine == EngineKind::OpenVswitch {
        // The switch reads it while it runs.
        restarting.idle_sleep_microseconds = 0;
    }
    restarting
}

fn hash(spec: &UserspaceEngineSpec) -> String {
    let text = serde_json::to_vec(spec).unwrap_or_default();
    format!("{:016x}", fnv1a(&text))
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {0}: the pod has to mount the ConfigMap of its UserspaceEngine there")]
    Read(PathBuf, #[source] std::io::Error),
    #[error("{0} is not what the controller of engines of this release writes")]
    Parse(PathBuf, #[source] serde_json::Error),
    #[error("{0} has a spec that the controller refuses: {1}")]
    Invalid(PathBuf, InvalidSpec),
}

/// Reads and validates the settings: the file, or what the pod was created with where the file asks
/// for something that takes another pod.
pub fn read(path: &Path, created_with: Option<&str>) -> Result<(String, ValidEngine), Error> {
    let parse = |text: &[u8]| -> Result<Settings, Error> {
        serde_json::from_slice(text).map_err(|source| Error::Parse(path.to_owned(), source))
    };
    let text = std::fs::read(path).map_err(|source| Error::Read(path.to_owned(), source))?;
    let file = parse(&text)?;
    let created = created_with.map(|text| parse(text.as_bytes())).transpose()?;
    let is_for_later = |created: &Settings| pod_hash(&created.spec) != pod_hash(&file.spec);
    let Settings { name, spec } = created.filter(is_for_later).unwrap_or(file);
    let valid = validate(&name, &spec).map_err(|invalid| Error::Invalid(path.to_owned(), invalid))?;
    Ok((name, valid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_takes_only_what_needs_no_other_pod() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let text = |image: &str, packets: &str, sleep: u32| {
            let memory = json!({"packets": packets});
            let spec = json!({"engine": "OVS", "image": image, "memory": memory, "idleSleepMicroseconds": sleep});
            json!({"name": "ovs", "spec": spec}).to_string()
        };
        let created = text("one", "1Gi", 200);
        let read = |file: String| {
            std::fs::write(&path, file).unwrap();
            let (_, valid) = read(&path, Some(&created)).unwrap();
            (valid.memory.packets.mib(), valid.idle_sleep_microseconds)
        };
        assert_eq!(read(text("one", "1Gi", 0)), (1024, 0));
        assert_eq!(read(text("two", "1Gi", 0)), (1024, 0), "the image of the pod was exchanged");
        assert_eq!(read(text("two", "2Gi", 0)), (1024, 200));
        std::fs::write(&path, "{").unwrap();
        assert!(super::read(&path, None).unwrap_err().to_string().contains("engine.json"));
    }
}
