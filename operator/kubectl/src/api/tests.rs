//! Programs in containers, of an API server whose streams are as each test needs them.

use super::{Cluster, ConnectionOptions, run_command, run_usnet, stream_from};
use crate::error::Error;
use crate::model::snapshot::AGENT;
use crate::model::testing::usnet_pod;
use futures::{SinkExt, StreamExt};
use kube::Config;
use std::future::{Future, pending};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

/// The time limit of a response.
const TIMEOUT: Duration = Duration::from_millis(500);
/// A limit that no test reaches.
const NEVER: Duration = Duration::from_secs(600);
/// The channels of the protocol `v5.channel.k8s.io`.
const STDOUT: u8 = 1;
const STATUS: u8 = 3;

type Stream = WebSocketStream<TcpStream>;

/// An API server that runs each program as `program` says.
async fn cluster<F>(program: impl Fn(Stream) -> F + Send + 'static) -> Cluster
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            #[expect(clippy::result_large_err, reason = "the error is a response by tungstenite's interface")]
            let protocol = |_: &Request, mut response: Response| {
                let name = HeaderValue::from_static("v5.channel.k8s.io");
                response.headers_mut().insert("Sec-WebSocket-Protocol", name);
                Ok(response)
            };
            let stream = accept_hdr_async(stream, protocol).await.unwrap();
            tokio::spawn(program(stream));
        }
    });
    let options = ConnectionOptions {
        kubeconfig: None,
        context: None,
        namespace: None,
        usnet_namespace: "usnet-system".to_owned(),
        request_timeout: 1,
    };
    Cluster::new(Config::new(url.parse().unwrap()), &options, TIMEOUT).unwrap()
}

async fn send(stream: &mut Stream, channel: u8, text: &str) {
    let bytes = [&[channel], text.as_bytes()].concat();
    stream.send(Message::binary(bytes)).await.unwrap();
}

/// Reads until the client closes the connection. One that is closed before would be reset, and the
/// client lose what was sent.
async fn until_closed(mut stream: Stream) {
    while let Some(Ok(_)) = stream.next().await {}
}

/// Streams the output of a program. Returns the result and what was written.
async fn streamed(cluster: &Cluster, limit: Duration) -> (Result<bool, Error>, String) {
    let mut output = Vec::new();
    let result = stream_from(cluster, &usnet_pod(AGENT, "node-a"), AGENT, &["x"], limit, &mut output).await;
    (result, String::from_utf8(output).unwrap())
}

#[tokio::test]
async fn a_program_may_be_silent_for_longer_than_a_response_takes() {
    let cluster = cluster(async |mut stream| {
        send(&mut stream, STDOUT, "frames").await;
        sleep(2 * TIMEOUT).await;
        send(&mut stream, STDOUT, " and more").await;
        send(&mut stream, STATUS, r#"{"status": "Success"}"#).await;
        until_closed(stream).await;
    });
    let cluster = cluster.await;
    let agent = usnet_pod(AGENT, "node-a");
    let run = run_usnet(&cluster, &agent, AGENT, &["x"]);
    let ((result, output), text) = futures::join!(streamed(&cluster, NEVER), run);
    assert!(result.unwrap());
    assert_eq!(output, "frames and more");
    assert_eq!(text.as_deref(), Ok("frames and more"));
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_and_what_came_is_written() {
    let cluster = cluster(async |mut stream| {
        send(&mut stream, STDOUT, "frames").await;
        // Without the end of the protocol.
        stream.get_mut().shutdown().await.unwrap();
        until_closed(stream).await;
    });
    let cluster = cluster.await;
    let (result, output) = streamed(&cluster, NEVER).await;
    let error = result.unwrap_err();
    assert!(error.exit_status() == 5 && error.sentence().contains("the connection broke"), "{error}");
    assert_eq!(output, "frames");
    let error = run_command(&cluster, ("web", "pod"), "tools", &["x"]).await.unwrap_err();
    assert!(error.contains("the connection broke"), "{error}");
}

#[tokio::test]
async fn a_program_that_does_not_end_is_left_at_its_limit() {
    let cluster = cluster(async |stream| {
        let _open = stream;
        pending::<()>().await;
    });
    let (result, _) = streamed(&cluster.await, TIMEOUT).await;
    let error = result.unwrap_err().sentence();
    assert!(error.contains("it did not end within"), "{error}");
}
