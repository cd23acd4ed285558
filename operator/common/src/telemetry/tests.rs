use super::access::tests::FakeReviewer;
use super::pace::HANDSHAKE_INTERVAL;
use super::probe::Question;
use super::server::{HEADER_TIMEOUT, LISTEN_RETRY};
use super::*;
use futures::FutureExt;
use prometheus::IntCounter;
use std::future::ready;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The response to a request line, from a program that listens on a free port.
async fn ask(telemetry: &Arc<Telemetry>, served: Served, line: &str) -> String {
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
        let (stream, peer) = listener.accept().await.unwrap();
        telemetry.serve_client(stream, peer.ip(), served, &Clients::All).await;
    };
    tokio::join!(client, server).0.unwrap()
}

#[tokio::test]
async fn readiness_is_separate_from_health() {
    let telemetry = Arc::new(Telemetry::default());
    assert!(ask(&telemetry, Served::Probes, "GET /healthz").await.starts_with("HTTP/1.1 200 OK"));
    assert!(ask(&telemetry, Served::Probes, "GET /readyz").await.starts_with("HTTP/1.1 503 "));
    telemetry.set_ready();
    assert!(ask(&telemetry, Served::Probes, "GET /readyz").await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn metrics_have_a_content_type_and_other_paths_do_not_exist() {
    let telemetry = Arc::new(Telemetry::default());
    let passes = IntCounter::new("passes_total", "Passes.").unwrap();
    telemetry.registry().register(Box::new(passes.clone())).unwrap();
    passes.inc();
    let answer = ask(&telemetry, Served::Metrics, "GET /metrics").await;
    assert!(answer.contains("content-type: text/plain; version=0.0.4\r\n"), "{answer}");
    assert!(answer.ends_with("# HELP passes_total Passes.\n# TYPE passes_total counter\npasses_total 1\n"), "{answer}");
    assert!(ask(&telemetry, Served::Metrics, "GET /").await.starts_with("HTTP/1.1 404 "));
    assert!(ask(&telemetry, Served::Metrics, "DELETE /metrics").await.starts_with("HTTP/1.1 405 "));
}

/// Waits until it holds.
async fn until(holds: impl AsyncFn() -> bool) {
    let wait = async {
        while !holds().await {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LISTEN_RETRY * 5, wait).await.expect("in time");
}

#[tokio::test]
async fn an_address_that_is_taken_is_named_and_taken_over_later() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("probes");
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = taken.local_addr().unwrap();
    let telemetry = Arc::new(Telemetry::default());
    let options =
        ListenOptions { listen_metrics: Some(address), probe_socket: Some(socket.clone()), ..ListenOptions::default() };
    let serving = tokio::spawn(Arc::clone(&telemetry).serve(options, None));
    let mut unserved = telemetry.unserved();
    let said = unserved.wait_for(|all| all.contains_key("/metrics")).await.unwrap().clone();
    let said = said.get("/metrics").unwrap();
    assert!(said.contains(&address.to_string()) && said.contains("--listen-metrics"), "{said}");
    // Everything else goes on.
    until(async || UnixStream::connect(&socket).await.is_ok()).await;
    let answer = request(UnixStream::connect(&socket).await.unwrap(), "/healthz").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && !serving.is_finished(), "{answer}");
    drop(taken);
    timeout(LISTEN_RETRY * 5, unserved.wait_for(Unserved::is_empty)).await.expect("it tries again").unwrap();
    let answer = request(TcpStream::connect(address).await.unwrap(), "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn a_probe_asks_the_program_of_its_container() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("probes");
    let probe = async |question| {
        let options = probe::Options { question, probe_socket: socket.clone() };
        tokio::task::spawn_blocking(move || probe::run(&options)).await.unwrap().map_err(|error| error.to_string())
    };
    let error = probe(Question::Healthz).await.unwrap_err();
    assert!(error.contains("no answer at"), "{error}");
    // As an earlier run of the container left it.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let telemetry = Arc::new(Telemetry::default());
    let options = ListenOptions { probe_socket: Some(socket.clone()), ..ListenOptions::default() };
    tokio::spawn(Arc::clone(&telemetry).serve(options, None));
    until(async || UnixStream::connect(&socket).await.is_ok()).await;
    assert_eq!(probe(Question::Healthz).await.as_deref(), Ok("ok"));
    let error = probe(Question::Readyz).await.unwrap_err();
    assert!(error.starts_with("not ready:"), "{error}");
    telemetry.set_ready();
    telemetry.set_problems(vec!["Ready is False".to_owned()]);
    assert_eq!(probe(Question::Readyz).await.as_deref(), Ok("ok\nReady is False"));
}

/// A peer that opens connections and sends nothing, as any pod can.
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn connect_from(address: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// The response to a request on a connection.
async fn request(stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    request_with(stream, path, "").await
}

/// The response to a request with more lines in its head.
async fn request_with(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str, lines: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n{lines}\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A program that serves metrics and probes at free ports of the loopback device.
async fn serving() -> (SocketAddr, SocketAddr) {
    let telemetry = Arc::new(Telemetry::default());
    telemetry.set_ready();
    let free = async || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let (metrics, probes) = (free().await, free().await);
    let options =
        ListenOptions { listen_metrics: Some(metrics), listen_probes: Some(probes), ..ListenOptions::default() };
    tokio::spawn(telemetry.serve(options, None));
    for address in [metrics, probes] {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(2)).await;
        }
    }
    (metrics, probes)
}

#[tokio::test]
async fn half_open_connections_delay_no_probe() {
    let (_, probes) = serving().await;
    {
        let address = probes;
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

/// Twelve pods of a tenant, each of which keeps twenty requests half open.
#[tokio::test]
async fn half_open_requests_of_many_peers_delay_no_probe() {
    let (_, probes) = serving().await;
    for peer in 0..12 * 20_u8 {
        tokio::spawn(async move {
            loop {
                let mut held = connect_from(Ipv4Addr::new(127, 0, 1, peer % 12), probes).await;
                held.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
                // Until it is closed, and then again.
                let _closed = held.read_to_end(&mut Vec::new()).await;
                sleep(Duration::from_millis(1)).await;
            }
        });
    }
    sleep(Duration::from_millis(100)).await;
    for probe in 0..50 {
        let stream = connect_from(Ipv4Addr::LOCALHOST, probes).await;
        // The kubelet sends its request after the connection was accepted.
        sleep(Duration::from_millis(20)).await;
        let answer = timeout(HEADER_TIMEOUT / 2, request(stream, "/readyz")).await.expect("in time");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "probe {probe}: {answer}");
    }
}

#[tokio::test]
async fn a_request_that_is_not_sent_is_not_waited_for() {
    let (metrics, _) = serving().await;
    let mut silent = connect_from(Ipv4Addr::LOCALHOST, metrics).await;
    let mut answer = Vec::new();
    let ended = timeout(HEADER_TIMEOUT * 3, silent.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "it is still open after {:?}", HEADER_TIMEOUT * 3);
}

#[tokio::test]
async fn probes_have_an_address_of_their_own_without_metrics() {
    let (metrics, probes) = serving().await;
    let get = async |address, path| request(TcpStream::connect(address).await.unwrap(), path).await;
    assert!(get(metrics, "/metrics").await.starts_with("HTTP/1.1 200 OK"));
    assert!(get(metrics, "/healthz").await.starts_with("HTTP/1.1 404 "));
    assert!(get(probes, "/metrics").await.starts_with("HTTP/1.1 404 "));
    assert!(get(probes, "/readyz").await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn a_ready_program_names_its_problems() {
    let telemetry = Arc::new(Telemetry::default());
    telemetry.set_ready();
    telemetry.set_problems(vec!["Ready is False (NotProgrammed): 0 of 1 networks are programmed".to_owned()]);
    let answer = ask(&telemetry, Served::Probes, "GET /readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(
        answer.ends_with("\r\n\r\nok\nReady is False (NotProgrammed): 0 of 1 networks are programmed\n"),
        "{answer}"
    );
}

#[derive(Debug)]
struct OnePort;

impl PortMetrics for OnePort {
    fn text(&self) -> BoxFuture<'_, Result<Arc<str>, String>> {
        ready(Ok("# TYPE usnet_port_connected gauge\n".into())).boxed()
    }
}

#[tokio::test]
async fn the_traffic_of_pods_is_served_on_the_loopback_device_and_nowhere_else() {
    let telemetry = Arc::new(Telemetry::default());
    telemetry.set_ports(OnePort);
    let free = async || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let (metrics, ports) = (free().await, free().await);
    let options =
        ListenOptions { listen_metrics: Some(metrics), listen_ports: Some(ports), ..ListenOptions::default() };
    tokio::spawn(telemetry.serve(options, None));
    for address in [metrics, ports] {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(2)).await;
        }
    }
    let get = async |address, path| request(TcpStream::connect(address).await.unwrap(), path).await;
    let answer = get(ports, "/metrics/ports").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("# TYPE usnet_port_connected gauge"), "{answer}");
    assert!(get(metrics, "/metrics/ports").await.starts_with("HTTP/1.1 404 "));
    assert!(get(ports, "/metrics").await.starts_with("HTTP/1.1 404 "));
    for address in ["127.0.0.1:8083", "[::1]:8083"] {
        assert_eq!(loopback(address), Ok(address.parse().unwrap()));
    }
    for address in ["0.0.0.0:8083", "[::]:8083", "10.0.0.1:8083", "8083", "localhost:8083"] {
        assert!(loopback(address).unwrap_err().contains("such as 127.0.0.1:8083"), "{address}");
    }
}

/// A program with a mounted certificate that serves those whom the reviewer allows, and what its
/// clients trust.
async fn protected(telemetry: Telemetry, reviewer: Arc<FakeReviewer>) -> (SocketAddr, TlsConnector) {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["usnet".into()]).unwrap().self_signed(&key).unwrap();
    let place = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        Some(folder.path().join(name))
    };
    let (metrics_certificate, metrics_key) =
        (place("tls.crt", certificate.pem()), place("tls.key", key.serialize_pem()));
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let options = ListenOptions { metrics_certificate, metrics_key, ..ListenOptions::default() };
    let clients = Clients::allowed(&options, reviewer).unwrap();
    tokio::spawn(Arc::new(telemetry).serve_at(Some(address), Served::Metrics, clients));
    while TcpStream::connect(address).await.is_err() {
        sleep(Duration::from_millis(2)).await;
    }
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    (address, TlsConnector::from(Arc::new(config)))
}

#[tokio::test]
async fn only_who_is_allowed_reads_metrics_and_only_over_tls() {
    let telemetry = Telemetry::default();
    telemetry.registry().register(Box::new(IntCounter::new("passes_total", "Passes.").unwrap())).unwrap();
    let reviewer = Arc::new(FakeReviewer::default());
    let (address, tls) = protected(telemetry, Arc::clone(&reviewer)).await;
    let get = async |from, path, lines| {
        let stream = connect_from(from, address).await;
        request_with(tls.connect(ServerName::try_from("usnet").unwrap(), stream).await.unwrap(), path, lines).await
    };
    let peer = |number| Ipv4Addr::new(127, 0, 0, number);
    for (number, lines, expected) in [
        (2, "", "HTTP/1.1 401 "),
        (3, "Authorization: Bearer unknown\r\n", "HTTP/1.1 401 "),
        (4, "Authorization: Bearer tenant\r\n", "HTTP/1.1 403 "),
        (5, "Authorization: Bearer away\r\n", "HTTP/1.1 503 "),
    ] {
        for path in ["/metrics", "/", "/healthz"] {
            let answer = get(peer(number), path, lines).await;
            assert!(answer.starts_with(expected), "{lines}: {answer}");
            for kept in ["passes_total", "secret", "unknown", "tenant"] {
                assert!(!answer.contains(kept), "{lines}: {answer}");
            }
        }
    }
    assert!(get(peer(2), "/metrics", "").await.contains("www-authenticate: Bearer\r\n"));
    let scraper = "Authorization: Bearer scraper\r\n";
    let answer = get(peer(6), "/metrics", scraper).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("passes_total 0\n"), "{answer}");
    assert!(get(peer(6), "/readyz", scraper).await.starts_with("HTTP/1.1 404 "));

    let mut plain = connect_from(peer(7), address).await;
    plain.write_all(format!("GET /metrics HTTP/1.1\r\nhost: x\r\n{scraper}\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _reset = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("passes_total"), "it is served without TLS");
}

/// Every pod of a node reaches its agent, and may open connections as fast as it can.
#[tokio::test]
async fn handshakes_are_paced_before_it_is_known_who_the_client_is() {
    let (address, tls) = protected(Telemetry::default(), Arc::new(FakeReviewer::default())).await;
    let (start, count) = (Instant::now(), 40);
    for number in 0..count {
        let stream = connect_from(Ipv4Addr::new(127, 0, 1, number % 4), address).await;
        tls.connect(ServerName::try_from("usnet").unwrap(), stream).await.unwrap();
    }
    let (took, least) = (start.elapsed(), HANDSHAKE_INTERVAL * u32::from(count - 1));
    assert!(took >= least, "{count} handshakes in {took:?} instead of {least:?}");
}

#[tokio::test]
async fn without_an_api_server_metrics_stay_on_the_loopback_device() {
    let options =
        |address: &str| ListenOptions { listen_metrics: Some(address.parse().unwrap()), ..ListenOptions::default() };
    for address in ["[::]:8443", "0.0.0.0:8443", "192.0.2.1:8443"] {
        let error = Arc::new(Telemetry::default()).serve(options(address), None).await.unwrap_err().to_string();
        assert!(error.contains(address) && error.contains("--listen-metrics"), "{error}");
        let reviewer: Arc<dyn Reviewer> = Arc::new(FakeReviewer::default());
        assert!(matches!(Clients::of_metrics(&options(address), Some(reviewer)), Ok(Clients::Allowed(_))));
    }
    for address in ["127.0.0.1:8443", "[::1]:8443"] {
        assert!(matches!(Clients::of_metrics(&options(address), None), Ok(Clients::All)));
    }
}
