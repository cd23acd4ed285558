use super::ipam_limits::IpamOptions;
use super::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tokio::io::Interest;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use usnet_dataplane::definition_ipam::DefinitionIpam;
use usnet_dataplane::testing::write_script;

fn options(plugin: PathBuf) -> Options {
    let plugins = || DefinitionIpam::PLUGINS.map(str::to_owned).into();
    let ipam =
        IpamOptions { definition_ipam_plugins: plugins(), definition_ipam_keys: Vec::new(), ipam_plugins: plugins() };
    Options { plugin, plugin_folders: "/plugins".into(), ipam }
}

/// A service with a shell script in place of the plugin.
struct Service {
    folder: tempfile::TempDir,
    task: tokio::task::JoinHandle<std::convert::Infallible>,
}

impl Service {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("plugin");
        write_script(&plugin, script);
        Self::with_plugin(folder, plugin)
    }

    fn with_plugin(folder: tempfile::TempDir, plugin: PathBuf) -> Self {
        let listener = server::listen(&NodePaths::below(folder.path()).attach_socket()).unwrap();
        let options = options(plugin);
        Self { folder, task: tokio::spawn(server::serve(listener, options)) }
    }

    async fn add(&self) -> Result<Value, Error> {
        self.request(&[("CNI_IFNAME", "net1")], json!({"name": "blue"})).await
    }

    async fn request(&self, environment: &[(&str, &str)], configuration: Value) -> Result<Value, Error> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let add = Request { command: Command::Add, environment, configuration };
        request(&self.paths(), &add).await
    }

    fn paths(&self) -> NodePaths {
        NodePaths::below(self.folder.path())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn the_plugin_gets_the_request_and_nothing_else() {
    let script = r#"printf '{"in": %s, "env": "%s"}' "$(cat)" "$CNI_COMMAND $CNI_IFNAME $CNI_PATH $USNET_IPAM_PLUGINS $LD_PRELOAD$HOME$USNET_RUN_DIR""#;
    let service = Service::new(script);
    let hostile = ["CNI_PATH", "CNI_COMMAND", "LD_PRELOAD", "PATH", "HOME", "USNET_RUN_DIR", "USNET_IPAM_PLUGINS"];
    let environment: Vec<_> = hostile.iter().map(|name| (*name, "/tmp")).chain([("CNI_IFNAME", "net1")]).collect();
    let result = service.request(&environment, json!({"name": "blue"})).await.unwrap();
    let expected = "ADD net1 /plugins dhcp,host-local,static,whereabouts, ";
    assert_eq!(result, json!({"in": {"name": "blue"}, "env": expected}));
    assert_eq!(Service::new("cat >/dev/null").add().await.unwrap(), Value::Null);
}

#[tokio::test]
async fn what_a_request_may_not_ask_for_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let service = Service::new(&format!("touch {}", ran.display()));
    let blue = json!({"name": "blue"});
    for (environment, configuration, expected) in [
        ([("CNI_PATH", "/tmp")], json!({"name": "blue", "ipam": {"type": "evil"}}), "allows dhcp, host-local"),
        ([("CNI_NETNS", "/proc/1/ns/net")], blue.clone(), "network namespace of a pod"),
        ([("CNI_IFNAME", "net1")], json!({"x": "x".repeat(300 << 10)}), "longer than"),
    ] {
        let error = service.request(&environment, configuration).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!ran.exists(), "{expected}");
    }
    service.request(&[("CNI_NETNS", "/run/netns/cni-1")], blue).await.unwrap();
    assert!(ran.exists());
}

#[tokio::test]
async fn silent_clients_delay_no_request() {
    let service = Service::new("echo '{}'");
    let mut held = Vec::new();
    for _ in 0..400 {
        held.push(UnixStream::connect(service.paths().attach_socket()).await.unwrap());
    }
    let slow = UnixStream::connect(service.paths().attach_socket()).await.unwrap();
    timeout(Duration::from_secs(1), service.add()).await.expect("it waits for silent clients").unwrap();
    // Those for which there is no room are closed, and the newest are not.
    let mut closed = 0;
    for stream in &mut held {
        closed += usize::from(stream.ready(Interest::WRITABLE).await.unwrap().is_write_closed());
    }
    assert!(closed >= 400 - reading::MAX, "{closed} of 400 are closed");
    assert!(!slow.ready(Interest::WRITABLE).await.unwrap().is_write_closed());
}

#[tokio::test]
async fn its_errors_are_passed_on() {
    let script = r#"echo '{"code": 103, "msg": "attached already", "details": "net1"}'; exit 1"#;
    let error = Service::new(script).add().await.unwrap_err();
    assert!(matches!(&error, Error::Plugin(CniError { code: 103, .. })), "{error:?}");
    assert_eq!(error.to_string(), "attached already: net1");
    let error = Service::new("echo killed; exit 9").add().await.unwrap_err();
    assert!(error.to_string().contains("the CNI plugin failed: killed"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let error = Service::with_plugin(folder, "/nowhere/plugin".into()).add().await.unwrap_err();
    assert!(error.to_string().contains("cannot run /nowhere/plugin"), "{error}");
}

#[test]
fn a_plugin_that_hangs_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("plugin");
    write_script(&plugin, "exec sleep 60");
    let add = Request { command: Command::Del, environment: BTreeMap::new(), configuration: Value::Null };
    let answer = call::run(&options(plugin), &add, Duration::from_millis(50));
    assert!(matches!(&answer, Answer::Error(error) if error.msg.contains("did not end")), "{answer:?}");
}

#[tokio::test]
async fn only_root_can_connect_and_without_a_service_it_says_what_is_missing() {
    let service = Service::new("true");
    let socket = NodePaths::below(service.folder.path()).attach_socket();
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(&socket).unwrap();
    let error = service.add().await.unwrap_err();
    assert!(error.to_string().contains("config/components/attachments"), "{error}");
}

#[tokio::test]
async fn a_request_is_dropped_whose_requester_gave_up_while_it_waited() {
    let folder = tempfile::tempdir().unwrap();
    let (started, end) = (folder.path().join("started"), folder.path().join("end"));
    let (first, end_path) = (started.display(), end.display());
    let service = Service::new(&format!("echo x >>{first}; while [ ! -e {end_path} ]; do sleep 0.05; done"));
    let count = || fs::read_to_string(&started).map_or(0, |text| text.lines().count());
    let running = async { futures::future::join_all((0..server::CALLS_MAX).map(|_| service.add())).await };
    let late = async {
        while count() < server::CALLS_MAX {
            sleep(Duration::from_millis(10)).await;
        }
        assert!(timeout(Duration::from_millis(100), service.add()).await.is_err(), "no slot is free");
        fs::write(&end, "").unwrap();
    };
    let (answers, ()) = tokio::join!(running, late);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    service.add().await.unwrap();
    assert_eq!(count(), server::CALLS_MAX + 1, "all but the one that was not waited for");
}

#[tokio::test]
async fn a_request_waits_no_longer_than_its_requester() {
    let (calls, limit) = (Semaphore::new(0), Duration::from_millis(10));
    let (own, requester) = UnixStream::pair().unwrap();
    assert_eq!(server::turn(&calls, &own, limit).await.unwrap_err().kind(), ErrorKind::TimedOut);
    calls.add_permits(1);
    drop(server::turn(&calls, &own, limit).await.unwrap());
    drop(requester);
    // Until the runtime has noticed.
    let refused = async {
        loop {
            match server::turn(&calls, &own, limit).await {
                Ok(permit) => drop(permit),
                Err(error) => return error.kind(),
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(timeout(Duration::from_secs(10), refused).await.unwrap(), ErrorKind::BrokenPipe);
}
