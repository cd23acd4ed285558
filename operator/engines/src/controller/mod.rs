//! Makes a DaemonSet of each UserspaceEngine, restarts its pods under the update policy, and
//! reports.
//!
//! - [`observed`]: the objects as last seen; [`run`](mod@run) (IO): the watches and the loop;
//! - [`daemon_set`]: the DaemonSet and the ConfigMap of an object, and [`pod`] the pod in it. Pure;
//! - [`pod_health`]: why a pod does not run its engine, from what Kubernetes and the agent of its
//!   node say. Pure;
//! - [`update`]: which pods are restarted next; [`image_check`]: whether their nodes can run
//!   another image, and [`exchange`]: how far its exchange is. Pure;
//! - [`deletion`]: which pods of users keep an engine. Pure;
//! - [`status`]: the conditions. Pure;
//! - [`write`](mod@write) (IO): the requests.
//!
//! There is one replica: while none runs, engines go on, and nothing is changed.

mod daemon_set;
mod deletion;
mod exchange;
mod image_check;
mod observed;
mod pod;
mod pod_health;
mod run;
mod status;
mod update;
mod write;

pub use pod::capabilities;
pub use run::{Error, Options, run};
pub use usnet_crds::userspace_engine::NAMESPACE;

/// The label of pods, DaemonSets and ConfigMaps with the name of their UserspaceEngine.
pub const OBJECT_LABEL: &str = "usnet.dev/userspace-engine";
/// The label of pods with their engine.
pub const ENGINE_LABEL: &str = "usnet.dev/engine";
/// The annotation of pods with the hash of what their engine was started with.
pub const SETTINGS_ANNOTATION: &str = "usnet.dev/engine-settings";
/// The annotation of pods with the hash of what cannot change in them.
const POD_ANNOTATION: &str = "usnet.dev/engine-pod";
/// The container of the engine in its pods.
const CONTAINER: &str = "engine";
/// The finalizer of an object while its engine may have pods of users.
pub const FINALIZER: &str = "usnet.dev/engine";

/// The name of the DaemonSet and of the ConfigMap of an object.
fn name_of(object: &str) -> String {
    format!("usnet-engine-{object}")
}
