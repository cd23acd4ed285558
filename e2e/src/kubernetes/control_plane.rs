//! The programs of the control plane: etcd, kube-apiserver, kube-controller-manager,
//! kube-scheduler.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::host::component::{Component, ComponentName};
use crate::host::probes;
use crate::kubernetes::audit;
use crate::kubernetes::certificates::{Authority, CertificateError, Subject};
use crate::testbed::addresses;
use crate::testbed::folder::TestbedFolder;

/// The address of etcd, which serves without authentication.
pub const ETCD: SocketAddr = local(2379);
const CONTROLLER_MANAGER: SocketAddr = local(10257);
const SCHEDULER: SocketAddr = local(10259);

#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("cannot write the audit policy of kube-apiserver")]
    Audit(#[source] io::Error),
}

/// The control plane's programs, in the order in which they can start.
#[derive(Debug)]
pub struct ControlPlane {
    pub etcd: Arc<Component>,
    pub apiserver: Arc<Component>,
    pub controller_manager: Arc<Component>,
    pub scheduler: Arc<Component>,
}

/// Prepares the control plane and the administrator's kubeconfig.
pub fn prepare(folder: &TestbedFolder, authority: &Authority) -> Result<ControlPlane, ControlPlaneError> {
    let administrator = authority.issue("admin", Subject { name: "admin", group: "system:masters", serves_at: &[] })?;
    authority.write_kubeconfig(&folder.kubeconfig(), &administrator)?;
    Ok(ControlPlane {
        etcd: Arc::new(etcd(folder)),
        apiserver: Arc::new(apiserver(folder, authority)?),
        controller_manager: Arc::new(controller_manager(folder, authority)?),
        scheduler: Arc::new(scheduler(folder, authority)?),
    })
}

const fn local(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// Describes a program of the control plane, with TMPDIR in the test bed's folder.
fn program(
    folder: &TestbedFolder,
    name: &'static str,
    arguments: Vec<String>,
    is_ready: impl Fn() -> bool + Send + Sync + 'static,
) -> Component {
    let temporary = folder.temporary();
    let launch = move || {
        let mut command = Command::new(name);
        command.args(&arguments).env("TMPDIR", &temporary).current_dir("/");
        command
    };
    Component::new(ComponentName::control_plane(name), &folder.logs(), launch, is_ready)
}

/// Returns `--name=value`.
fn flag(name: &str, value: impl AsRef<Path>) -> String {
    format!("--{name}={}", value.as_ref().display())
}

fn etcd(folder: &TestbedFolder) -> Component {
    let arguments = vec![
        flag("data-dir", folder.root().join("etcd")),
        "--name=testbed".to_owned(),
        format!("--listen-client-urls=http://{ETCD}"),
        format!("--advertise-client-urls=http://{ETCD}"),
        "--listen-peer-urls=http://127.0.0.1:2380".to_owned(),
        "--initial-advertise-peer-urls=http://127.0.0.1:2380".to_owned(),
        "--initial-cluster=testbed=http://127.0.0.1:2380".to_owned(),
        // A test bed does not outlive the page cache of the machine.
        "--unsafe-no-fsync".to_owned(),
    ];
    program(folder, "etcd", arguments, probes::http(ETCD, "/health"))
}

fn apiserver(folder: &TestbedFolder, authority: &Authority) -> Result<Component, ControlPlaneError> {
    let names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned);
    let serves_at: Vec<String> = [addresses::CONTROL_PLANE, addresses::KUBERNETES_SERVICE, Ipv4Addr::LOCALHOST]
        .iter()
        .map(Ipv4Addr::to_string)
        .chain(names)
        .collect();
    let server = Subject { name: "kube-apiserver", group: "system:masters", serves_at: &serves_at };
    let server = authority.issue("kube-apiserver", server)?;
    let client = Subject { name: "kube-apiserver-kubelet-client", group: "system:masters", serves_at: &[] };
    let client = authority.issue("kube-apiserver-kubelet-client", client)?;
    let mut arguments = vec![
        format!("--advertise-address={}", addresses::CONTROL_PLANE),
        // The port of the `kubernetes` Service, which no kube-proxy translates here.
        "--secure-port=443".to_owned(),
        format!("--etcd-servers=http://{ETCD}"),
        flag("cert-dir", folder.temporary()),
        flag("client-ca-file", authority.certificate()),
        flag("tls-cert-file", &server.certificate),
        flag("tls-private-key-file", &server.key),
        flag("kubelet-client-certificate", &client.certificate),
        flag("kubelet-client-key", &client.key),
        flag("kubelet-certificate-authority", authority.certificate()),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        flag("service-account-key-file", authority.token_public_key()),
        flag("service-account-signing-key-file", authority.token_key()),
        format!("--service-cluster-ip-range={}", addresses::SERVICES),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--allow-privileged=true".to_owned(),
    ];
    arguments.extend(audit::prepare(folder).map_err(ControlPlaneError::Audit)?);
    let (ca, url) = (authority.certificate(), format!("https://{}/readyz", addresses::CONTROL_PLANE));
    let listens = probes::tcp(SocketAddr::new(addresses::CONTROL_PLANE.into(), 443));
    // This needs no client certificate. A start of kubectl would use a quarter of a second of a
    // core.
    let is_ready = probes::command(move || {
        let mut command = Command::new("curl");
        command.args(["--silent", "--fail", "--max-time", "2", "--cacert"]).arg(&ca).arg(&url);
        command
    });
    Ok(program(folder, "kube-apiserver", arguments, probes::both(listens, is_ready)))
}

fn controller_manager(folder: &TestbedFolder, authority: &Authority) -> Result<Component, CertificateError> {
    let name = "kube-controller-manager";
    let mut arguments = serving(authority, name, CONTROLLER_MANAGER)?;
    arguments.extend([
        "--use-service-account-credentials=true".to_owned(),
        flag("root-ca-file", authority.certificate()),
        flag("service-account-private-key-file", authority.token_key()),
        flag("cluster-signing-cert-file", authority.certificate()),
        flag("cluster-signing-key-file", authority.key()),
        // The default is a folder of the machine, which the program creates.
        flag("flex-volume-plugin-dir", folder.root().join("volume-plugins")),
    ]);
    Ok(program(folder, name, arguments, probes::tcp(CONTROLLER_MANAGER)))
}

fn scheduler(folder: &TestbedFolder, authority: &Authority) -> Result<Component, CertificateError> {
    let arguments = serving(authority, "kube-scheduler", SCHEDULER)?;
    Ok(program(folder, "kube-scheduler", arguments, probes::tcp(SCHEDULER)))
}

/// Returns the flags of a program that is a client of the API and serves its health at `address`.
fn serving(authority: &Authority, name: &str, address: SocketAddr) -> Result<Vec<String>, CertificateError> {
    let kubeconfig = authority.client(name, &format!("system:{name}"), "system:authenticated")?;
    let serves_at = [address.ip().to_string()];
    let server = authority
        .issue(&format!("{name}-server"), Subject { name, group: "system:authenticated", serves_at: &serves_at })?;
    Ok(vec![
        flag("kubeconfig", &kubeconfig),
        flag("authentication-kubeconfig", &kubeconfig),
        flag("authorization-kubeconfig", &kubeconfig),
        format!("--bind-address={}", address.ip()),
        format!("--secure-port={}", address.port()),
        flag("tls-cert-file", &server.certificate),
        flag("tls-private-key-file", &server.key),
        "--leader-elect=false".to_owned(),
        // The default of 20 requests per second would take a third of the start time.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ])
}
