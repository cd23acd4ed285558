//! The image of virtual machines on the nodes.

use crate::support::cluster::{nodes, on_node};
use std::path::Path;
use std::sync::LazyLock;
use std::thread;
use usnet_e2e::kubernetes::containerd::SNAPSHOTTER;
use usnet_e2e::kubernetes::images::virtual_machine::Sources;
use usnet_e2e::testbed::folder::TestbedFolder;
use usnet_e2e::testbed::settings::Settings;

/// Whether all nodes have the image. If not, this prints what is left out.
pub(super) fn is_there(what: &str) -> bool {
    static IMPORTED: LazyLock<Result<(), String>> = LazyLock::new(import);
    if let Err(reason) = IMPORTED.as_ref() {
        println!("left out: {what}: {reason}");
    }
    IMPORTED.is_ok()
}

fn import() -> Result<(), String> {
    let testbed = std::env::var("USNET_WORLD").expect("these tests run in a test bed: e2e/world -- cargo test …");
    let settings = Settings::read(&TestbedFolder::new(testbed)).unwrap();
    let archive = Sources::find(&settings.tools)?.archive(&settings.cache).unwrap();
    let imports = nodes().into_iter().map(|node| (node, archive.clone()));
    let imports: Vec<_> = imports.map(|(node, archive)| thread::spawn(move || import_on(node, &archive))).collect();
    imports.into_iter().for_each(|import| import.join().unwrap());
    Ok(())
}

fn import_on(node: &str, archive: &Path) {
    let import = ["ctr", "--namespace=k8s.io", "images", "import", "--local", "--snapshotter", SNAPSHOTTER];
    on_node(node, &[&import[..], &[archive.to_str().unwrap()]].concat());
}
