//! Runs the commands of README and `docs/`.
//!
//! The [`table`] has each of them once, in the order in which they are run. A command that is on a
//! page and not in the table, or the other way round, fails a test.

mod commands;
mod table;

use crate::support::cluster::{apply, check, eventually, get, kubectl, succeed, timeout, try_run};
use crate::support::pods::{NODE, pod_without_volume, sleeping_pod, wait_running};
use crate::support::scene::{Scene, agent_pod};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{How, NETWORK, PODS, Row};

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// README and the pages for users: not the records of decisions, which are in a folder, and not
/// those that a program writes.
fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(checkout().join("docs")).unwrap().flatten();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.retain(|page| !["reference.md", "CHANGELOG.md", "SUMMARY.md"].iter().any(|name| page.ends_with(name)));
    pages.push(checkout().join("README.md"));
    pages
}

/// The commands that a shell in the test bed proposes.
fn proposed() -> Vec<String> {
    let text = std::fs::read_to_string(checkout().join("e2e/scripts/shell.txt")).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter_map(|line| line.split("  ").next()).map(ToOwned::to_owned).collect()
}

/// The commands of all pages, with a page that has each.
fn documented() -> Vec<(String, String)> {
    let of_page = |page: PathBuf| {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&page).unwrap();
        let found = commands::commands(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        found.into_iter().map(move |command| (command, name.clone()))
    };
    let proposed = proposed().into_iter().map(|command| (command, "shell.txt".to_owned()));
    pages().into_iter().flat_map(of_page).chain(proposed).collect()
}

#[test]
fn each_documented_command_is_in_the_table_and_each_target_of_make_exists() {
    let makefile = std::fs::read_to_string(checkout().join("Makefile")).unwrap();
    let rows = NETWORK.iter().chain(PODS);
    let known: BTreeSet<&str> = rows.clone().map(|(command, _)| *command).collect();
    assert_eq!(known.len(), rows.count(), "a command is in the table twice");
    let documented = documented();
    let mut problems = Vec::new();
    for (command, page) in &documented {
        let words: Vec<&str> = command.split(' ').skip_while(|word| word.starts_with("USNET_")).collect();
        if let ["make", target, ..] = words.as_slice() {
            if !makefile.lines().any(|line| line.split(':').next() == Some(target)) {
                problems.push(format!("{page}: make has no target for `{command}`"));
            }
        } else if !known.contains(command.as_str()) {
            problems.push(format!("{page}: `{command}` is not in the table of documented commands"));
        }
    }
    let is_documented = |row: &&str| documented.iter().any(|(command, _)| command == row);
    problems.extend(known.iter().filter(|row| !is_documented(row)).map(|row| format!("on no page: `{row}`")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Removes what commands leave outside of the scene.
struct Leftovers;

impl Drop for Leftovers {
    fn drop(&mut self) {
        for arguments in [
            ["delete", "pods", "--all", "-n", "default", "--grace-period=1", timeout()].as_slice(),
            &["label", "namespace", "default", "usnet.dev/blue-"],
            &["delete", "usn", "blue", "--ignore-not-found", timeout()],
        ] {
            if let Err(error) = try_run("kubectl", arguments, "") {
                eprintln!("cleaning up: {error}");
            }
        }
    }
}

/// The blocks of YAML of a page.
fn yaml_of(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(checkout().join("docs").join(page)).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

/// An object as JSON, as `kubectl` reads it.
fn object(yaml: &str) -> Value {
    let text = succeed(try_run("kubectl", &["create", "--dry-run=client", "-o", "json", "-f", "-"], yaml));
    serde_json::from_str(&text).unwrap()
}

/// Files that the commands name: the network of "Getting started", and a change of it.
fn write_files(folder: &Path) {
    let network = yaml_of("getting-started.md").swap_remove(0);
    std::fs::write(folder.join("blue.yaml"), &network).unwrap();
    let mut changed = object(&network);
    changed["spec"]["bridge"]["mtu"] = json!(9000);
    std::fs::write(folder.join("network.yaml"), changed.to_string()).unwrap();
}

/// The pods of the pages: that of "Getting started" with its DPDK program, and those of the
/// examples of `kubectl usnet`.
fn start_pods(scene: &Scene) {
    kubectl(&["label", "namespace", &scene.name, "usnet.dev/blue=allowed"]);
    let mut pod = object(&yaml_of("getting-started.md")[1]);
    pod["metadata"]["name"] = json!("user");
    pod["metadata"]["namespace"] = json!("default");
    let container = &mut pod["spec"]["containers"][0];
    container["image"] = json!("testpmd:e2e");
    container["imagePullPolicy"] = json!("Never");
    container["resources"] = json!({"limits": {"cpu": "300m"}, "requests": {"cpu": "10m"}});
    apply(&pod);
    apply(&sleeping_pod(scene, "dpdk-0", "blue"));
    apply(&pod_without_volume(scene, "dpdk-1", "blue"));
    kubectl(&["wait", "--for=condition=Ready", "pod/user", "-n", "default", timeout()]);
    wait_running(scene, "dpdk-0");
    scene.await_refusal("dpdk-1", &["NoVolume"]);
}

/// Waits until the node states have the pods, which reports and the CLI read, and the program of
/// "Getting started" is connected.
fn await_reported() {
    eventually("the pods are counted", || {
        let network = get(&["usn", "blue"]).ok_or("no network")?;
        let status = &network["status"];
        check(status["attachments"] == 2 && status["connected"] == 1, status.to_string())
    });
}

/// Runs a command in a shell, and returns what it printed if its exit status is another one.
fn run_in(folder: &Path, agent: &str, command: &str, expected: i32) -> Result<(), String> {
    let mut shell = Command::new("sh");
    shell.args(["-euc", command]).current_dir(folder).env("AGENT", agent).env("CHECKOUT", checkout());
    let output = shell.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    check(output.status.code() == Some(expected), format!("`{command}`: {}, not {expected}\n{printed}", output.status))
}

/// Runs rows, and prints those that another test runs. Returns how many were run, and what failed.
fn run_rows(rows: &[Row], folder: &Path, agent: &str) -> (usize, Vec<String>) {
    let (mut run, mut failures) = (0, Vec::new());
    for (documented, how) in rows {
        let (command, status) = match how {
            How::Run => (*documented, 0),
            How::As(command) => (*command, 0),
            How::Exits(status, command) => (*command, *status),
            How::Tested(place) => {
                println!("not here: `{documented}`: {place}");
                continue;
            }
        };
        run += 1;
        failures.extend(run_in(folder, agent, command, status).err());
    }
    (run, failures)
}

#[test]
fn each_documented_command_does_what_its_page_says() {
    let scene = Scene::new("web");
    let _leftovers = Leftovers;
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let agent = agent_pod(NODE);
    let (run, failures) = run_rows(NETWORK, folder.path(), &agent);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    start_pods(&scene);
    await_reported();
    let (with_pods, failures) = run_rows(PODS, folder.path(), &agent);
    println!("{} of {} documented commands were run here", run + with_pods, NETWORK.len() + PODS.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The kinds of which whole objects are tried; other blocks show a part of one, or kinds of others.
const KINDS: [&str; 4] = ["UserspaceNetwork", "UserspaceUplink", "Pod", "StatefulSet"];

fn is_whole_object(yaml: &str) -> bool {
    let has = |line: &str| yaml.lines().any(|it| it == line);
    yaml.contains("apiVersion: ") && KINDS.iter().any(|kind| has(&format!("kind: {kind}")))
}

#[test]
fn the_api_server_accepts_each_documented_object() {
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
            for object in block.split("---\n").filter(|object| is_whole_object(object)) {
                let answer = try_run("kubectl", &["apply", "--dry-run=server", "-f", "-"], object);
                assert!(answer.is_ok(), "{}: {answer:?}\n{object}", page.display());
                count += 1;
            }
        }
    }
    println!("{count} objects");
    assert!(count > 8);
}
