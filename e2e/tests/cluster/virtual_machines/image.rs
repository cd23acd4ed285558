//! The image of virtual machines on the nodes.

use crate::support::images;
use std::sync::LazyLock;
use usnet_e2e::kubernetes::images::virtual_machine::Sources;

/// Whether all nodes have the image. If not, this prints what is left out.
pub(super) fn is_there(what: &str) -> bool {
    static IMPORTED: LazyLock<Result<(), String>> = LazyLock::new(import);
    if let Err(reason) = IMPORTED.as_ref() {
        println!("left out: {what}: {reason}");
    }
    IMPORTED.is_ok()
}

fn import() -> Result<(), String> {
    let settings = images::settings();
    images::import(&Sources::find(&settings.tools)?.archive(&settings.cache).unwrap());
    Ok(())
}
