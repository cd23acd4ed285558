//! The paths of what Intel's userspace CNI created. A DEL of a pod that it attached needs them,
//! also where ADD would reject the configuration today: so nothing is rejected here, and unreadable
//! keys count as absent.

use super::keys::Keys;
use crate::EngineKind;
use crate::engine::BridgeKey;
use serde_json::{Map, Value};
use std::path::{Component, Path, PathBuf};

/// `host` and related keys of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostConf {
    /// `host.engine`.
    pub engine: Option<EngineKind>,
    /// With Open vSwitch the bridge: `host.bridge.bridgeName`, or the default.
    pub bridge: Option<String>,
    /// `socketfile` of the host, if it is a file name.
    pub socket_file: Option<String>,
    /// `sharedDir`, if it is an absolute path without `..`.
    pub shared_dir: Option<PathBuf>,
    /// `ipam`, if it names a plugin.
    pub ipam: Option<Value>,
}

impl HostConf {
    pub fn read(configuration: &Map<String, Value>) -> Self {
        let whole = Keys::of(configuration);
        let Ok(host) = whole.object("host") else { return Self::default() };
        let engine = super::parse::engine(&host).ok();
        let bridge = host.object("bridge").ok().and_then(|bridge| bridge.text("bridgeName").ok().flatten());
        let kinds = ["vhost", "memif"].map(|kind| host.object(kind).ok());
        let named = kinds.iter().flatten().filter_map(|kind| kind.text("socketfile").ok().flatten());
        Self {
            engine,
            bridge: engine
                .is_some_and(|engine| engine.traits().bridge_key == BridgeKey::Name)
                .then(|| bridge.unwrap_or(super::parse::DEFAULT_BRIDGE).to_owned()),
            socket_file: named.filter(|name| is_file_name(name)).map(str::to_owned).next(),
            shared_dir: shared_dir(configuration).and_then(plain_path),
            ipam: super::parse::ipam(&whole).ok().flatten(),
        }
    }
}

/// `sharedDir` of a configuration, unvalidated.
pub fn shared_dir(configuration: &Map<String, Value>) -> Option<&str> {
    Keys::of(configuration).text("sharedDir").ok().flatten()
}

/// Whether a configuration names a `kubeconfig`, which is not read: with it Intel's plugin wrote an
/// annotation of the pod and no file.
pub fn has_kubeconfig(configuration: &Map<String, Value>) -> bool {
    Keys::of(configuration).text("kubeconfig").ok().flatten().is_some()
}

/// An absolute path without `..`.
pub fn plain_path(text: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    (path.is_absolute() && path.components().all(is_plain) && !text.contains('\0')).then(|| path.to_owned())
}

fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(configuration: &Value) -> HostConf {
        HostConf::read(configuration.as_object().unwrap())
    }

    #[test]
    fn configurations_that_add_rejects_are_parsed() {
        let listening = json!({
            "SharedDir": "/var/run/old", "ipam": {"type": "host-local"},
            "host": {"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "server", "socketfile": "s"}},
        });
        let expected = HostConf {
            engine: Some(EngineKind::OpenVswitch),
            bridge: Some("br0".to_owned()),
            socket_file: Some("s".to_owned()),
            shared_dir: Some("/var/run/old".into()),
            ipam: Some(json!({"type": "host-local"})),
        };
        assert_eq!(read(&listening), expected);
        let vpp = json!({"host": {"engine": "vpp", "bridge": {"bridgeName": "4"}}});
        assert_eq!(read(&vpp), HostConf { engine: Some(EngineKind::Vpp), ..HostConf::default() });
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_not_there() {
        for path in ["../x", "/var/../etc", "x", "/a\0b", ""] {
            let whole = json!({"sharedDir": path, "host": {"engine": "vpp", "memif": {"socketfile": path}}});
            assert_eq!(
                (read(&whole).shared_dir, read(&whole).socket_file.filter(|name| name != "x")),
                (None, None),
                "{path}"
            );
        }
        assert_eq!(read(&json!({"host": 7})), HostConf::default());
    }
}
