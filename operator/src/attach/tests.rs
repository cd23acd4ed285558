use super::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// A service with a shell script in place of the plugin.
struct Service {
    folder: tempfile::TempDir,
    task: tokio::task::JoinHandle<std::convert::Infallible>,
}

impl Service {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("plugin");
        fs::write(&plugin, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
        Self::with_plugin(folder, plugin)
    }

    fn with_plugin(folder: tempfile::TempDir, plugin: PathBuf) -> Self {
        let listener = server::listen(&NodePaths::below(folder.path()).attach_socket()).unwrap();
        let options = Options { plugin, plugin_folders: "/plugins".into() };
        Self { folder, task: tokio::spawn(server::serve(listener, options)) }
    }

    async fn add(&self) -> Result<Value, Error> {
        let environment = [("CNI_IFNAME", "net1"), ("LD_PRELOAD", "/x")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let add = Request { command: Command::Add, environment, configuration: json!({"name": "blue"}) };
        request(&NodePaths::below(self.folder.path()), &add).await
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn the_plugin_gets_the_request_and_nothing_else() {
    let script = r#"printf '{"in": %s, "env": "%s"}' "$(cat)" "$CNI_COMMAND $CNI_IFNAME $CNI_PATH $LD_PRELOAD$HOME""#;
    let result = Service::new(script).add().await.unwrap();
    assert_eq!(result, json!({"in": {"name": "blue"}, "env": "ADD net1 /plugins "}));
    assert_eq!(Service::new("cat >/dev/null").add().await.unwrap(), Value::Null);
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
    fs::write(&plugin, "#!/bin/sh\nexec sleep 60\n").unwrap();
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
    let add = Request { command: Command::Del, environment: BTreeMap::new(), configuration: Value::Null };
    let answer = call::run(&plugin, "/plugins".as_ref(), &add, Duration::from_millis(50));
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
