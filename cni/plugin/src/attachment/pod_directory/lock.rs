//! The locks of mounts and unmounts: one for each pod, and one for each device.

use super::error::{PodDirectoryError, file_error};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use usnet_dataplane::atomic_file::Error;
use usnet_dataplane::attachment::PodUid;
use usnet_dataplane::locks::{self, Lock};

/// How long to wait for other calls on the same pod or device. Each takes milliseconds, and a pod
/// has few interfaces. A longer timeout would only delay the error when a holder hangs in the
/// kernel.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_FILE: &str = ".lock";

/// Serializes mounts and unmounts of a pod and of a device in the folder of all mounts. The pod's
/// lock is taken first, so that no two calls wait for each other.
///
/// # Errors
/// Without the folder the error [is](PodDirectoryError::is_not_found) that it does not exist.
pub(super) fn lock_mounts(
    mounts: &Path,
    pod: Option<&PodUid>,
    device: Option<&Path>,
) -> Result<Lock, PodDirectoryError> {
    let path = mounts.join(LOCK_FILE);
    let device = device.map(|device| locks::offset(&format!("device {}", device.display())));
    let pod = pod.map(|pod| locks::offset(&format!("pod {pod}")));
    let offsets: Vec<u64> = pod.into_iter().chain(device).collect();
    let taken = Lock::take(&path, &offsets, LOCK_TIMEOUT);
    let failed = |error: Error| {
        let kind = if error.is_not_found() { ErrorKind::NotFound } else { ErrorKind::Other };
        file_error("lock", &path, io::Error::new(kind, error))
    };
    taken.map_err(failed)?.ok_or_else(|| PodDirectoryError::Busy(mounts.to_owned()))
}
