//! etcd and kube-apiserver on loopback, in a folder of their own: RBAC, admission policies, API
//! priority and fairness, and an audit log of what usnet writes.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use usnet_e2e::host::{probes, wait};
use usnet_e2e::kubernetes::certificates::{Authority, Subject};

const LIMIT: Duration = Duration::from_secs(120);

/// The two programs; dropping it ends them.
pub(crate) struct ApiServer {
    pub(crate) folder: tempfile::TempDir,
    /// Where etcd serves, without asking who comes.
    pub(crate) etcd: SocketAddr,
    address: SocketAddr,
    authority: Authority,
    children: Vec<Child>,
}

impl ApiServer {
    /// Starts both. They come from `USNET_TOOLS`, which `make bench` sets.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let authority = Authority::create(&folder.path().join("authority")).expect("an authority");
        let mut server = Self { address: free_port(), etcd: free_port(), folder, authority, children: Vec::new() };
        server.start_etcd();
        server.start_api_server();
        server
    }

    fn start_etcd(&mut self) {
        let peer = free_port();
        let mut command = tool("etcd");
        command
            .arg("--unsafe-no-fsync")
            .arg("--quota-backend-bytes=6000000000")
            .arg("--data-dir")
            .arg(self.folder.path().join("etcd"));
        for (flag, address) in
            [("listen-client-urls", self.etcd), ("advertise-client-urls", self.etcd), ("listen-peer-urls", peer)]
        {
            command.arg(format!("--{flag}=http://{address}"));
        }
        command.arg(format!("--initial-advertise-peer-urls=http://{peer}"));
        command.arg(format!("--initial-cluster=default=http://{peer}"));
        let is_ready = probes::http(self.etcd, "/health");
        self.spawn(command, "etcd", is_ready);
    }

    fn start_api_server(&mut self) {
        let loopback = [Ipv4Addr::LOCALHOST.to_string()];
        let server = Subject { name: "kube-apiserver", group: "system:masters", serves_at: &loopback };
        let identity = self.authority.issue("server", server).expect("a certificate");
        let policy = self.folder.path().join("audit-policy.json");
        fs::write(&policy, audit_policy().to_string()).expect("a policy");
        let mut command = tool("kube-apiserver");
        let path = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
        command.args([
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.address.port()),
            format!("--etcd-servers=http://{}", self.etcd),
            path("cert-dir", &self.folder.path().join("serving")),
            path("client-ca-file", &self.authority.certificate()),
            path("tls-cert-file", &identity.certificate),
            path("tls-private-key-file", &identity.key),
            path("service-account-key-file", &self.authority.token_public_key()),
            path("service-account-signing-key-file", &self.authority.token_key()),
            path("audit-policy-file", &policy),
            path("audit-log-path", &self.audit_log()),
            // It is read from its beginning, whatever its size (in MB).
            "--audit-log-maxsize=100000".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
        ]);
        let admin = self.admin_kubeconfig();
        let is_ready = probes::command(move || {
            let mut kubectl = tool("kubectl");
            kubectl.arg("--kubeconfig").arg(&admin).args(["get", "--raw=/readyz"]);
            kubectl
        });
        self.spawn(command, "kube-apiserver", probes::both(probes::tcp(self.address), is_ready));
    }

    /// What the service accounts of usnet wrote.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    pub(crate) fn etcd_process(&self) -> u32 {
        self.children.first().expect("etcd").id()
    }

    pub(crate) fn process(&self) -> u32 {
        self.children.last().expect("kube-apiserver").id()
    }

    /// A kubeconfig for a user who may do everything.
    pub(crate) fn admin_kubeconfig(&self) -> PathBuf {
        let path = self.folder.path().join("admin.kubeconfig");
        if !path.exists() {
            let subject = Subject { name: "admin", group: "system:masters", serves_at: &[] };
            let identity = self.authority.issue("admin", subject).expect("a certificate");
            let user = json!({"client-certificate": identity.certificate, "client-key": identity.key});
            fs::write(&path, self.kubeconfig(&user).to_string()).expect("a kubeconfig");
        }
        path
    }

    /// A kubeconfig for the holder of a token; in the namespace of usnet.
    pub(crate) fn token_kubeconfig(&self, token: &str) -> Value {
        self.kubeconfig(&json!({"token": token}))
    }

    fn kubeconfig(&self, user: &Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {
                "server": format!("https://{}", self.address), "certificate-authority": self.authority.certificate()}}],
            "users": [{"name": "it", "user": user}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": "usnet-system"}}],
        })
    }

    /// Runs kubectl, which has to succeed.
    pub(crate) fn kubectl(&self, arguments: &[&str]) {
        let mut kubectl = tool("kubectl");
        kubectl.arg("--kubeconfig").arg(self.admin_kubeconfig()).args(arguments);
        assert!(kubectl.stdout(Stdio::null()).status().expect("kubectl starts").success(), "kubectl {arguments:?}");
    }

    fn spawn(&mut self, mut command: Command, name: &str, is_ready: impl Fn() -> bool) {
        let log = self.folder.path().join(format!("{name}.log"));
        let file = fs::File::create(&log).expect("a log");
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a log")).stderr(file);
        self.children.push(command.spawn().unwrap_or_else(|error| panic!("cannot start {name}: {error}")));
        if !wait::until(LIMIT, is_ready) {
            println!("{}", fs::read_to_string(&log).unwrap_or_default());
            panic!("{name} does not serve; its log is above");
        }
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What usnet writes, without bodies; the rest would be most of the log.
fn audit_policy() -> Value {
    let rule = json!({"level": "Metadata", "userGroups": ["system:serviceaccounts:usnet-system"],
        "verbs": ["create", "update", "patch", "delete", "deletecollection"]});
    json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [rule, {"level": "None"}]})
}

/// A program of the test test bed.
fn tool(name: &str) -> Command {
    let folders = std::env::var_os("USNET_TOOLS")
        .expect("USNET_TOOLS names the folders of etcd and kube-apiserver: use `make bench`");
    let path = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.exists());
    Command::new(path.unwrap_or_else(|| panic!("no {name} in USNET_TOOLS")))
}

/// A port of loopback that nothing listens on.
pub(crate) fn free_port() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address")
}
