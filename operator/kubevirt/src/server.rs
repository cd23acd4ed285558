//! gRPC over the unix socket of the sidecar: two services, distinguished by the path of a request.

use super::api::services::callbacks_server::CallbacksServer;
use super::api::services::info_server::InfoServer;
use super::service::Sidecar;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{ServiceExt, service_fn};

/// The prefix of paths of the service `Info`.
const INFO: &str = "/kubevirt.hooks.info.Info/";
/// How long virt-launcher may take to read its last answer.
const LAST_ANSWER: Duration = Duration::from_secs(2);
/// Pause after a failed accept, as when no descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the socket until the virtual machine has ended. Fails if the socket cannot be created.
pub(super) async fn serve(socket: &Path, sidecar: Sidecar) -> io::Result<()> {
    // The socket may be left from an earlier run of this container.
    match fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = sidecar.ended.notified() => break,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => drop(connections.spawn(serve_connection(stream, sidecar.clone()))),
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
    let last = async { while connections.join_next().await.is_some() {} };
    // Connections that are still open after this time are dropped: their clients had enough time to
    // read the answer.
    let _elapsed = timeout(LAST_ANSWER, last).await;
    Ok(())
}

async fn serve_connection(stream: UnixStream, sidecar: Sidecar) {
    let (info, callbacks) = (InfoServer::new(sidecar.clone()), CallbacksServer::new(sidecar));
    let services = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (info, callbacks) = (info.clone(), callbacks.clone());
        async move {
            if request.uri().path().starts_with(INFO) {
                info.oneshot(request).await
            } else {
                callbacks.oneshot(request).await
            }
        }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(services));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of virt-launcher ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::services::callbacks_client::CallbacksClient;
    use crate::api::services::info_client::InfoClient;
    use crate::api::{InfoParams, OnDefineDomainParams, PreCloudInitIsoParams, ShutdownParams};
    use crate::machine::Binding;
    use hyper::Uri;
    use hyper::client::conn::http2 as client;
    use serde_json::json;
    use tonic::Code;

    /// What virt-launcher does from the start of a virtual machine to its end.
    #[tokio::test]
    async fn virt_launcher_asks_defines_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("usnet.sock");
        let binding = Binding { name: "usnet".into(), sockets: "/s".into(), descriptions: None };
        // Of an earlier run.
        drop(UnixListener::bind(&socket).unwrap());
        let sidecar = tokio::spawn({
            let socket = socket.clone();
            async move { serve(&socket, Sidecar::new(binding)).await }
        });
        let stream = loop {
            match UnixStream::connect(&socket).await {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let (sender, connection) =
            client::handshake::<_, _, tonic::body::Body>(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let transport = service_fn(move |request| {
            let mut sender = sender.clone();
            async move { sender.send_request(request).await }
        });
        let origin = Uri::from_static("http://localhost");
        let mut info = InfoClient::with_origin(transport.clone(), origin.clone());
        let mut callbacks = CallbacksClient::with_origin(transport, origin);

        let wants = info.info(InfoParams {}).await.unwrap().into_inner();
        let points: Vec<_> = wants.hook_points.iter().map(|point| point.name.as_str()).collect();
        assert_eq!((points, wants.versions), (vec!["OnDefineDomain", "Shutdown"], vec!["v1alpha3".to_owned()]));

        let vmi =
            json!({"spec": {"domain": {"devices": {"interfaces": [{"name": "blue", "binding": {"name": "usnet"}}]}}}});
        let define = |xml: &str, vmi: &str| OnDefineDomainParams { domain_xml: xml.into(), vmi: vmi.into() };
        let defined =
            callbacks.on_define_domain(define("<domain><devices/></domain>", &vmi.to_string())).await.unwrap();
        let xml = String::from_utf8(defined.into_inner().domain_xml).unwrap();
        assert!(xml.contains("path='/s/pod16477688c0e.sock' mode='server'"), "{xml}");
        assert!(xml.contains("<access mode='shared'/>"), "{xml}");
        for (xml, vmi) in [("<domain>", vmi.to_string()), ("<domain><devices/></domain>", "{".to_owned())] {
            let refused = callbacks.on_define_domain(define(xml, &vmi)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument);
            assert!(refused.message().starts_with("usnet: "), "{refused}");
        }
        let unused = callbacks.pre_cloud_init_iso(PreCloudInitIsoParams {}).await.unwrap_err();
        assert_eq!(unused.code(), Code::Unimplemented);

        callbacks.shutdown(ShutdownParams {}).await.unwrap();
        drop((info, callbacks));
        sidecar.await.unwrap().unwrap();
        let _ended = connection.await.unwrap();
    }
}
