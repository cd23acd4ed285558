//! The agreement of both sides before frames flow.

use super::layout::address;
use super::ring::Ring;
use crate::Error;
use crate::memory::SharedMemory;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

/// `VIRTIO_F_VERSION_1`: a header of 12 bytes, numbers in little endian.
const VERSION_1: u64 = 1 << 32;
/// An engine that adds a port at the same time takes less.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Frames to the program are in ring 0, frames from it in ring 1.
pub(super) const RINGS: usize = 2;

/// Sends the engine its configuration. Frames flow once both rings were kicked.
pub(super) fn negotiate(
    socket: UnixStream,
    memory: &SharedMemory,
    rings: [(&Ring, &EventFd); RINGS],
) -> Result<Frontend, Error> {
    let limited = socket.set_read_timeout(Some(ANSWER_WITHIN)).and(socket.set_write_timeout(Some(ANSWER_WITHIN)));
    limited.map_err(Error::resources("a time limit"))?;
    let mut frontend = Frontend::from_stream(socket, RINGS as u64);
    agree_on_features(&mut frontend)?;
    let region = VhostUserMemoryRegionInfo {
        guest_phys_addr: address(0),
        memory_size: memory.size() as u64,
        userspace_addr: address(0),
        mmap_offset: 0,
        mmap_handle: memory.file(),
    };
    frontend.set_mem_table(&[region]).map_err(refused("the memory"))?;
    for (number, (ring, wake)) in rings.into_iter().enumerate() {
        set_ring(&mut frontend, number, ring, wake).map_err(refused("a ring"))?;
    }
    for number in 0..RINGS {
        frontend.set_vring_enable(number, true).map_err(refused("to enable a ring"))?;
    }
    Ok(frontend)
}

fn agree_on_features(frontend: &mut Frontend) -> Result<(), Error> {
    let wanted = VERSION_1 | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
    let offered = frontend.get_features().map_err(refused("to tell its features"))?;
    if offered & wanted != wanted {
        return Err(Error::Peer(format!("it offers features {offered:#x}, without {wanted:#x}")));
    }
    frontend.get_protocol_features().map_err(refused("to tell its protocol features"))?;
    frontend.set_protocol_features(VhostUserProtocolFeatures::empty()).map_err(refused("protocol features"))?;
    frontend.set_owner().map_err(refused("an owner"))?;
    frontend.set_features(wanted).map_err(refused("features"))
}

fn set_ring(frontend: &mut Frontend, number: usize, ring: &Ring, wake: &EventFd) -> vhost::Result<()> {
    let layout = ring.layout();
    frontend.set_vring_num(number, layout.size)?;
    frontend.set_vring_base(number, 0)?;
    let addresses = VringConfigData {
        queue_max_size: layout.size,
        queue_size: layout.size,
        flags: 0,
        desc_table_addr: address(layout.descriptors),
        used_ring_addr: address(layout.used),
        avail_ring_addr: address(layout.available),
        log_addr: None,
    };
    frontend.set_vring_addr(number, &addresses)?;
    frontend.set_vring_call(number, wake)?;
    frontend.set_vring_kick(number, ring.kick())
}

/// Returns a function for `map_err`.
fn refused(message: &'static str) -> impl FnOnce(vhost::Error) -> Error {
    move |source| Error::Negotiation { message, source: Box::new(source) }
}
