//! Images that test beds do not import by default.

use crate::support::cluster::{nodes, on_node};
use std::path::Path;
use std::thread;
use usnet_e2e::kubernetes::containerd::SNAPSHOTTER;
use usnet_e2e::testbed::folder::TestbedFolder;
use usnet_e2e::testbed::settings::Settings;

/// Returns the settings of this test bed, with the folder of cached archives.
pub(crate) fn settings() -> Settings {
    let testbed = std::env::var("USNET_WORLD").expect("these tests run in a test bed: e2e/world -- cargo test …");
    Settings::read(&TestbedFolder::new(testbed)).unwrap()
}

/// Imports the images of an archive on all nodes, at the same time.
pub(crate) fn import(archive: &Path) {
    thread::scope(|scope| {
        for node in nodes() {
            scope.spawn(move || import_on(node, archive));
        }
    });
}

fn import_on(node: &str, archive: &Path) {
    let import = ["ctr", "--namespace=k8s.io", "images", "import", "--local", "--snapshotter", SNAPSHOTTER];
    on_node(node, &[&import[..], &[archive.to_str().unwrap()]].concat());
}
