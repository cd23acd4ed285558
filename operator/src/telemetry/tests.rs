use super::*;
use prometheus::IntCounter;
use std::io::{Read, Write};

/// The response to a request line, from a program that listens on a free port.
async fn ask(telemetry: &Arc<Telemetry>, line: &str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let request = format!("{line} HTTP/1.1\r\nhost: x\r\n\r\n");
    let client = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let server = async {
        let (stream, _) = listener.accept().await.unwrap();
        telemetry.serve_connection(stream).await.unwrap();
    };
    tokio::join!(client, server).0.unwrap()
}

#[tokio::test]
async fn readiness_is_separate_from_health() {
    let telemetry = Arc::new(Telemetry::default());
    assert!(ask(&telemetry, "GET /healthz").await.starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&telemetry, "GET /readyz").await.starts_with("HTTP/1.1 503 "));
    telemetry.set_ready();
    assert!(ask(&telemetry, "GET /readyz").await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn metrics_have_a_content_type_and_other_paths_do_not_exist() {
    let telemetry = Arc::new(Telemetry::default());
    let passes = IntCounter::new("passes_total", "Passes.").unwrap();
    telemetry.registry().register(Box::new(passes.clone())).unwrap();
    passes.inc();
    let answer = ask(&telemetry, "GET /metrics").await;
    assert!(answer.contains("content-type: text/plain; version=0.0.4\r\n"), "{answer}");
    assert!(answer.ends_with("# HELP passes_total Passes.\n# TYPE passes_total counter\npasses_total 1\n"), "{answer}");
    assert!(ask(&telemetry, "GET /").await.starts_with("HTTP/1.1 404 "));
    assert!(ask(&telemetry, "DELETE /metrics").await.starts_with("HTTP/1.1 405 "));
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = taken.local_addr().unwrap();
    let error = Arc::new(Telemetry::default()).serve(ListenOptions { listen: Some(address) }).await.unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
