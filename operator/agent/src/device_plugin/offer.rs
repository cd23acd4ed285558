//! Offers one resource to kubelet: serves kubelet's calls at a socket, and registers it again
//! whenever kubelet may have lost the registration.

use super::api::{DevicePluginOptions, KUBELET_SOCKET, RegisterRequest, VERSION};
use super::folder::DeviceFolders;
use super::resource::Resource;
use super::server::{self, RegistrationError};
use super::service::Service;
use crate::report::metrics::Metrics;
use crate::watch::file_identity::FileIdentity;
use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::{sleep, timeout};
use usnet_common::display::ErrorChain;
use usnet_crds::NetworkName;
use usnet_crds::device::resource_name;

/// Delay between two attempts. A restarted kubelet rejects pods with devices until the resource is
/// registered again.
const RETRY: Duration = Duration::from_secs(1);
/// How often it is checked whether kubelet still holds its stream of devices, beside the events of
/// its folder: an ended stream causes no event. A registration counts as lost after two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Why a resource is not offered.
#[derive(Debug, thiserror::Error)]
pub(super) enum OfferError {
    #[error("cannot listen at {}", path.display())]
    Listen { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Registration(#[from] RegistrationError),
}

/// A resource, and the folder of kubelet where it is offered.
#[derive(Debug)]
pub(super) struct Offer {
    kubelet_folder: PathBuf,
    service: Service,
}

impl Offer {
    pub(super) fn new(
        kubelet_folder: &Path,
        network: NetworkName,
        resource: Receiver<Resource>,
        folders: DeviceFolders,
    ) -> Self {
        let listeners = Arc::new(Sender::new(()));
        Self { kubelet_folder: kubelet_folder.to_owned(), service: Service { network, resource, folders, listeners } }
    }

    /// Offers the resource indefinitely. `changes` are changes in kubelet's folder.
    pub(super) async fn run(self, mut changes: Receiver<()>, metrics: Metrics) -> Infallible {
        let resource = resource_name(&self.service.network);
        let mut is_failing = false;
        loop {
            let ended = self.offer(&mut changes, &metrics).await;
            match ended {
                Ok(()) => {
                    is_failing = false;
                    tracing::info!(resource, "kubelet lost the registration; registering again");
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(resource, error = %ErrorChain(&error), "cannot register a resource with kubelet; retrying");
                    }
                    metrics.registration(false);
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Returns when kubelet has lost the registration.
    async fn offer(&self, changes: &mut Receiver<()>, metrics: &Metrics) -> Result<(), OfferError> {
        changes.mark_unchanged();
        let kubelet = self.kubelet_folder.join(KUBELET_SOCKET);
        // Read before the registration: a kubelet that starts meanwhile has another socket.
        let seen = FileIdentity::of(&kubelet);
        let socket = Socket::new(self.kubelet_folder.join(format!("usnet-{}.sock", self.service.network)));
        let listener = socket.listen()?;
        let request = RegisterRequest {
            version: VERSION.to_owned(),
            endpoint: socket.name(),
            resource_name: resource_name(&self.service.network),
            options: Some(DevicePluginOptions::default()),
        };
        let registered = async {
            server::register(&kubelet, request).await?;
            metrics.registration(true);
            tracing::info!(resource = resource_name(&self.service.network), "registered with kubelet");
            self.until_registration_lost(changes, &kubelet, seen, &socket).await;
            Ok(())
        };
        tokio::select! {
            never = server::serve(listener, self.service.clone()) => match never {},
            ended = registered => ended,
        }
    }

    /// A kubelet that starts removes all sockets in its folder and recreates its own.
    async fn until_registration_lost(
        &self,
        changes: &mut Receiver<()>,
        kubelet: &Path,
        seen: Option<FileIdentity>,
        socket: &Socket,
    ) {
        let mut had_listener = true;
        loop {
            let is_notified = timeout(CHECK_INTERVAL, changes.changed()).await.is_ok();
            if FileIdentity::of(kubelet) != seen || !socket.0.exists() {
                return;
            }
            let has_listener = self.service.listeners.receiver_count() > 0;
            if !is_notified {
                if !has_listener && !had_listener {
                    return;
                }
                had_listener = has_listener;
            }
        }
    }
}

/// The file of a socket, which is removed on drop.
#[derive(Debug)]
struct Socket(PathBuf);

impl Socket {
    fn new(path: PathBuf) -> Self {
        Self(path)
    }

    fn name(&self) -> String {
        self.0.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn listen(&self) -> Result<UnixListener, OfferError> {
        let failed = |source| OfferError::Listen { path: self.0.clone(), source };
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        UnixListener::bind(&self.0).map_err(failed)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Kubelet may have removed it.
        let _gone = fs::remove_file(&self.0);
    }
}
