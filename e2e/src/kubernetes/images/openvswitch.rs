//! The image of Open vSwitch with DPDK, as `make image` writes it. Test beds do not import it by
//! default, because its programs with their libraries have 33 MB.

use std::path::{Path, PathBuf};

use usnet_release::drivers::Drivers;
use usnet_release::image::Image;
use usnet_release::openvswitch::{self, Openvswitch};
use usnet_release::target::Target;

use crate::kubernetes::images::archives::{cached, digest_of};
use crate::kubernetes::images::error::ArchiveError;
use crate::kubernetes::images::names::OPENVSWITCH_IMAGE;

/// The DPDK drivers of the test bed, whose nodes have no NICs of hardware.
const DRIVERS: [&str; 7] =
    ["bus_pci", "bus_vdev", "mempool_ring", "net_af_packet", "net_af_xdp", "net_tap", "net_virtio"];

/// Builds the archive of the image, or finds it in the cache. It has no licenses: it does not leave
/// this machine.
pub fn archive(cache: &Path) -> Result<PathBuf, ArchiveError> {
    let found = Openvswitch::find(Drivers::Named(&DRIVERS))?;
    let digest = digest_of(&found.files())?;
    cached(cache, ("openvswitch", &digest), |folder| {
        Ok(Image {
            name: OPENVSWITCH_IMAGE.to_owned(),
            architecture: Target::node().architecture,
            settings: openvswitch::settings([].into()),
            layer: found.write_layer(&folder.join("layer"), 0)?,
        })
    })
}
