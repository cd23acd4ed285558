//! The sockets, called as kubelet does.

use super::super::api::services::d_r_a_plugin_client::DRAPluginClient;
use super::super::api::services::d_r_a_resource_health_client::DRAResourceHealthClient;
use super::super::api::services::registration_client::RegistrationClient;
use super::super::api::{self, DeviceHealth, HealthStatus};
use super::super::preparer::fake_node::node;
use super::*;
use futures::StreamExt;
use hyper::Uri;
use hyper::client::conn::http2 as client;
use std::sync::Arc;
use tokio::sync::watch::channel;

type Sender = client::SendRequest<tonic::body::Body>;

async fn connect(socket: &Path) -> Sender {
    let stream = loop {
        match UnixStream::connect(socket).await {
            Ok(stream) => break stream,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let (sender, connection) = client::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[tokio::test]
async fn kubelet_registers_the_driver_prepares_and_watches_health() {
    let (node, preparer) = node();
    let sockets = Sockets::new(&node.paths);
    let unhealthy = DeviceHealth { health: HealthStatus::Unhealthy.into(), ..DeviceHealth::default() };
    let (_sender, health) = channel(vec![unhealthy]);
    let driver = Driver { preparer: Arc::new(preparer), health };
    let serving = tokio::spawn({
        let sockets = sockets.clone();
        async move { serve(&sockets, driver).await }
    });
    let transport = |sender: Sender| {
        service_fn(move |request| {
            let mut sender = sender.clone();
            async move { sender.send_request(request).await }
        })
    };
    // As kubelet makes it of the path of the socket.
    let origin = Uri::from_static("http://%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fdra@usnet.dev-reg.sock");
    let mut registration = RegistrationClient::with_origin(transport(connect(&sockets.registration).await), origin);
    let info = registration.get_info(InfoRequest {}).await.unwrap().into_inner();
    assert_eq!((info.plugin_type.as_str(), info.name.as_str()), ("DRAPlugin", "usnet.dev"));
    assert_eq!(Path::new(&info.endpoint), sockets.driver);

    let sender = connect(&sockets.driver).await;
    let origin = Uri::from_static("http://localhost");
    let mut plugin = DRAPluginClient::with_origin(transport(sender.clone()), origin.clone());
    let claims = vec![api::Claim { namespace: "default".into(), uid: "c-1".into(), name: "web-uplink-x7".into() }];
    let prepared = plugin.node_prepare_resources(api::NodePrepareResourcesRequest { claims: claims.clone() }).await;
    let prepared = prepared.unwrap().into_inner().claims.remove("c-1").unwrap();
    assert_eq!((prepared.devices.len(), prepared.error.as_str()), (1, ""));
    let done = plugin.node_unprepare_resources(api::NodeUnprepareResourcesRequest { claims }).await;
    assert_eq!(done.unwrap().into_inner().claims.remove("c-1").unwrap().error, "");

    let mut watch = DRAResourceHealthClient::with_origin(transport(sender), origin);
    let mut states = watch.node_watch_resources(api::NodeWatchResourcesRequest {}).await.unwrap().into_inner();
    let first = states.next().await.unwrap().unwrap();
    let device = first.devices.first().unwrap();
    assert_eq!((device.health(), device.health_check_timeout_seconds > 0), (HealthStatus::Unhealthy, true));
    serving.abort();
}
