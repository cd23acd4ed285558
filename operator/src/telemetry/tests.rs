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
        telemetry.serve_connection(stream, Served::Everything).await.unwrap();
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
    let error = Arc::new(Telemetry::default())
        .serve(ListenOptions { listen: Some(address), ..ListenOptions::default() })
        .await
        .unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

/// A peer that opens connections and sends nothing, as any pod can.
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn connect_from(address: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// The response to a request on a connection.
async fn request(mut stream: TcpStream, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A program that serves at free ports: everything, and probes alone.
async fn serving() -> (SocketAddr, SocketAddr) {
    let telemetry = Arc::new(Telemetry::default());
    telemetry.set_ready();
    let free = async || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let (everything, probes) = (free().await, free().await);
    let options = ListenOptions { listen: Some(everything), listen_probes: Some(probes), ..ListenOptions::default() };
    tokio::spawn(telemetry.serve(options));
    for address in [everything, probes] {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(2)).await;
        }
    }
    (everything, probes)
}

#[tokio::test]
async fn half_open_connections_delay_no_probe() {
    let (everything, probes) = serving().await;
    for address in [everything, probes] {
        let other = connect_from(Ipv4Addr::LOCALHOST, address).await;
        let mut held = Vec::new();
        for from in [HOSTILE, Ipv4Addr::LOCALHOST] {
            for _ in 0..if from == HOSTILE { 300 } else { 10 } {
                held.push(connect_from(from, address).await);
            }
        }
        let limit = HEADER_TIMEOUT / 2;
        let answer = timeout(limit, request(connect_from(Ipv4Addr::LOCALHOST, address).await, "/healthz")).await;
        assert!(answer.expect("it waits for half-open connections").starts_with("HTTP/1.1 200 OK"));
        let answer = timeout(limit, request(other, "/readyz")).await;
        assert!(answer.expect("another peer took its place").starts_with("HTTP/1.1 200 OK"));
    }
}

#[tokio::test]
async fn a_request_that_is_not_sent_is_not_waited_for() {
    use tokio::io::AsyncReadExt;
    let (everything, _) = serving().await;
    let mut silent = connect_from(Ipv4Addr::LOCALHOST, everything).await;
    let mut answer = Vec::new();
    let ended = timeout(HEADER_TIMEOUT * 3, silent.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "it is still open after {:?}", HEADER_TIMEOUT * 3);
}

#[tokio::test]
async fn probes_have_an_address_of_their_own_without_metrics() {
    let (everything, probes) = serving().await;
    let get = async |address, path| request(TcpStream::connect(address).await.unwrap(), path).await;
    assert!(get(everything, "/metrics").await.starts_with("HTTP/1.1 200 OK"));
    assert!(get(probes, "/metrics").await.starts_with("HTTP/1.1 404 "));
    assert!(get(probes, "/readyz").await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn a_ready_program_names_its_problems() {
    let telemetry = Arc::new(Telemetry::default());
    telemetry.set_ready();
    telemetry.set_problems(vec!["Ready is False (NotProgrammed): 0 of 1 networks are programmed".to_owned()]);
    let answer = ask(&telemetry, "GET /readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(
        answer.ends_with("\r\n\r\nok\nReady is False (NotProgrammed): 0 of 1 networks are programmed\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn the_traffic_of_pods_is_served_on_the_loopback_device_and_nowhere_else() {
    let (_folder, paths) = crate::agent::testing::node_paths();
    let telemetry = Arc::new(Telemetry::default());
    telemetry.set_ports(PortScrape::new("node-a".into(), paths));
    let free = async || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let (everything, ports) = (free().await, free().await);
    let options = ListenOptions { listen: Some(everything), listen_ports: Some(ports), ..ListenOptions::default() };
    tokio::spawn(telemetry.serve(options));
    for address in [everything, ports] {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(2)).await;
        }
    }
    let get = async |address, path| request(TcpStream::connect(address).await.unwrap(), path).await;
    let answer = get(ports, "/metrics/ports").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("# TYPE usnet_port_connected gauge"), "{answer}");
    assert!(get(everything, "/metrics/ports").await.starts_with("HTTP/1.1 404 "));
    assert!(get(ports, "/metrics").await.starts_with("HTTP/1.1 404 "));
    for address in ["127.0.0.1:8083", "[::1]:8083"] {
        assert_eq!(loopback(address), Ok(address.parse().unwrap()));
    }
    for address in ["0.0.0.0:8083", "[::]:8083", "10.0.0.1:8083", "8083", "localhost:8083"] {
        assert!(loopback(address).unwrap_err().contains("such as 127.0.0.1:8083"), "{address}");
    }
}
