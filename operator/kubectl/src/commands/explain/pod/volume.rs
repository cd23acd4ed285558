//! Causes that concern the volume in which a pod shares its socket with the engine.

use super::context::Context;
use crate::commands::explain::finding::Finding;
use crate::model::Mount;
use usnet_crds::device::resource_name;
use usnet_crds::{MemifSecretKind, MemifSocketKind, Port, PortType, SocketRole};

/// Whether the port needs a volume that the pod shares with the engine, by the rules of the plugin.
fn needs_volume(context: &Context<'_>) -> bool {
    let Some(valid) = context.valid() else { return false };
    match valid.port.port_type {
        PortType::VhostUser => true,
        PortType::Memif => {
            let memif = valid.port.memif;
            memif.socket == MemifSocketKind::Volume || memif.secret == MemifSecretKind::Generated
        }
        PortType::Veth | PortType::Tap => false,
    }
}

/// The pod has neither a volume nor a device.
pub(super) fn no_volume(context: &Context<'_>) -> Option<Finding> {
    let (valid, pod) = (context.valid()?, context.pod);
    let resource = resource_name(&valid.name);
    let has_device = valid.device_plugin.is_some() && pod.resources.contains(&resource);
    let volume = valid.port.volume_name();
    let is_empty_dir = pod.volumes.get(volume).copied();
    if !needs_volume(context) || is_empty_dir == Some(true) || has_device {
        return None;
    }
    let created_by =
        pod.owner.as_ref().map_or_else(|| "the pod".to_owned(), |owner| format!("{owner}, which creates the pod"));
    let socket = valid.port.port_type.as_str();
    let (cause, why) = match is_empty_dir {
        None => ("NoVolume", format!("the pod has no emptyDir volume {volume:?} for the socket of its {socket} port")),
        Some(_) => ("VolumeNotEmptyDir", format!("volume {volume:?} of the pod is not an emptyDir")),
    };
    let device = match valid.device_plugin {
        Some(_) => format!(", or request {resource}: 1 in the limits of its container"),
        None => String::new(),
    };
    let remedy = format!(
        "the volumes of a pod cannot be changed: in {created_by}, add volumes: [{{name: {volume}, emptyDir: {{}}}}] and volumeMounts: [{{name: {volume}, mountPath: /run/usnet}}]{device}"
    );
    Some(Finding::new(cause, why, remedy))
}

/// The kubelet creates a volume only if a container mounts it, so the plugin does not find one that
/// none mounts.
pub(super) fn volume_not_mounted(context: &Context<'_>) -> Option<Finding> {
    let pod = context.pod;
    let volume = context.valid()?.port.volume_name();
    let has_volume = pod.volumes.get(volume).copied() == Some(true);
    let is_hidden = has_volume && !pod.mounted.contains_key(volume) && needs_volume(context) && !pod.has_ended();
    let why = format!("no container of the pod mounts its volume {volume:?}, so the kubelet does not create it");
    let remedy = format!(
        "add volumeMounts: [{{name: {volume}, mountPath: /run/usnet}}] to the container of the program, and create the pod again"
    );
    is_hidden.then(|| Finding::new("VolumeNotMounted", why, remedy))
}

/// No mount of the volume allows a program to create or find the socket.
pub(super) fn mount_unusable(context: &Context<'_>) -> Option<Finding> {
    let pod = context.pod;
    let valid = context.valid()?;
    let volume = valid.port.volume_name();
    let mounts = pod.mounted.get(volume)?;
    let problem = |mount: &Mount| match &mount.sub_path {
        _ if pod.is_init_container(&mount.container) => Some(format!(
            "container {} mounts volume {volume:?}, and it ends before the containers of the pod start",
            mount.container
        )),
        Some(path) => Some(format!(
            "container {} mounts subPath {path:?} of volume {volume:?}, and the socket is in the volume itself",
            mount.container
        )),
        None if mount.is_read_only && program_listens(&valid.port) => Some(format!(
            "container {} mounts volume {volume:?} with readOnly, so its program cannot create the socket on which it has to listen",
            mount.container
        )),
        None => None,
    };
    let problems: Option<Vec<String>> = mounts.iter().map(problem).collect();
    let problems = problems.filter(|_| needs_volume(context) && !pod.has_ended())?;
    let remedy = format!(
        "mount the whole volume, writable, into the container of the program: volumeMounts: [{{name: {volume}, mountPath: /run/usnet}}], and create the pod again"
    );
    Some(Finding::new("MountUnusable", problems.join("; "), remedy).of(context.subject()))
}

/// Whether the program listens on the socket, and the engine connects.
pub(super) fn program_listens(port: &Port) -> bool {
    port.port_type == PortType::VhostUser && port.vhost_user.engine_role == SocketRole::Client
}
