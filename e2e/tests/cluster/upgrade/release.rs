//! The two versions of usnet: their configuration, and their programs as an image.

use crate::support::cluster::{NODES, check, eventually, kubectl, on_node, run};
use serde_json::json;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use usnet_e2e::kubernetes::images::archives;

/// What `e2e/scripts/upgrade-test` hands over: for each version its folder `config`, and the folder
/// of its two programs.
const VARIABLES: [(&str, &str); 2] = [
    ("USNET_UPGRADE_PREVIOUS_CONFIG", "USNET_UPGRADE_PREVIOUS_BINARIES"),
    ("USNET_UPGRADE_CURRENT_CONFIG", "USNET_UPGRADE_CURRENT_BINARIES"),
];
/// The plugin on a node.
const PLUGIN: &str = "/opt/cni/bin/userspace";

/// The versions between which to go forth and back.
pub(super) struct Releases {
    /// The one that the test bed was started with.
    pub(super) previous: Release,
    /// The one of this checkout.
    pub(super) current: Release,
}

impl Releases {
    /// None unless `e2e/scripts/upgrade-test` started this.
    pub(super) fn from_environment() -> Option<Self> {
        let [previous, current] = VARIABLES.map(|(config, binaries)| {
            Some((PathBuf::from(std::env::var_os(config)?), PathBuf::from(std::env::var_os(binaries)?)))
        });
        // The test bed has imported the image of the first version under this tag.
        let previous = Release::new("the previous version", "e2e", previous?);
        let current = Release::new("this version", "upgraded", current?);
        current.import();
        Some(Self { previous, current })
    }
}

/// A version of usnet.
pub(super) struct Release {
    name: &'static str,
    tag: &'static str,
    config: PathBuf,
    binaries: PathBuf,
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Release {
    fn new(name: &'static str, tag: &'static str, (config, binaries): (PathBuf, PathBuf)) -> Self {
        Self { name, tag, config, binaries }
    }

    /// Loads its image on all nodes.
    fn import(&self) {
        let folder = testbed().join("upgrade");
        fs::create_dir_all(&folder).unwrap();
        let name = format!("usnet:{}", self.tag);
        let file = archives::usnet_archive(&folder, &self.binaries, &name).unwrap();
        for node in NODES {
            let import = ["ctr", "--namespace=k8s.io", "images", "import", "--local", "--snapshotter", "native"];
            on_node(node, &[import.as_slice(), &[file.to_str().unwrap()]].concat());
        }
    }

    /// Installs it as users do, over whatever version runs.
    pub(super) fn install(&self) {
        let overlay = testbed().join(format!("upgrade/{}", self.tag));
        fs::create_dir_all(&overlay).unwrap();
        let overlay = overlay.canonicalize().unwrap();
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [relative(&overlay, &self.config.join("default").canonicalize().unwrap())],
            "images": [{"name": "usnet", "newTag": self.tag}],
        });
        fs::write(overlay.join("kustomization.yaml"), kustomization.to_string()).unwrap();
        kubectl(&["apply", "--kustomize", overlay.to_str().unwrap()]);
        for workload in ["deployment/usnet-controller", "daemonset/usnet-agent"] {
            kubectl(&["rollout", "status", "--namespace=usnet-system", "--timeout=180s", workload]);
        }
        self.assert_installed();
    }

    /// Asserts that agents of this version run and that the nodes have its plugin.
    pub(super) fn assert_installed(&self) {
        let image = format!("usnet:{}", self.tag);
        eventually(&format!("only programs of {self}"), || {
            let observed = kubectl(&[
                "get",
                "pods",
                "--namespace=usnet-system",
                "-o",
                "jsonpath={range .items[*]}{.spec.containers[0].image} {end}",
            ]);
            check(observed.split_whitespace().all(|running| running.ends_with(&image)), observed)
        });
        let sum = |text: String| text.split_whitespace().next().map(ToOwned::to_owned);
        let expected = sum(run("sha256sum", &[self.binaries.join("userspace").to_str().unwrap()]));
        for node in NODES {
            assert_eq!(sum(on_node(node, &["sha256sum", PLUGIN])), expected, "the plugin of {self} on {node}");
        }
    }
}

fn testbed() -> PathBuf {
    PathBuf::from(std::env::var_os("USNET_WORLD").expect("this runs in a test bed"))
}

/// The way from one folder to another; kustomize accepts no absolute paths.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let up: PathBuf = from.components().skip(1).map(|_| Path::new("..")).collect();
    up.join(to.strip_prefix("/").unwrap())
}
