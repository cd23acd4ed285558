//! Each tool applies what each other tool has applied, as kubectl does in the tests of networks.

use super::argo::{Argo, Mode};
use super::figures::is_long;
use super::flux::Flux;
use super::helm::Helm;
use crate::networks::appliers::{Applied, Tool as Kubectl, applied, objects, stored};
use crate::support::cluster::{get, kubectl, timeout, try_run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

const PART: &str = "matrix";

/// A column of the matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Kubectl(Kubectl),
    Prune,
    Flux,
    Argo(Mode),
    Helm(Helm),
}

struct Tools {
    flux: Flux,
    argo: Argo,
}

impl Tools {
    fn apply(&mut self, column: Column, objects: &[Value]) -> Result<(), String> {
        let list = || json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        match column {
            Column::Kubectl(tool) => tool.run(objects).map(drop),
            Column::Prune => {
                let kinds = ["UserspaceNetwork", "UserspaceUplink"];
                let kinds = kinds.map(|kind| format!("--prune-allowlist=usnet.dev/v1alpha1/{kind}"));
                let label = format!("appliers={PART}");
                let apply = ["apply", "--prune", "-l", &label, &kinds[0], &kinds[1], "-f", "-"];
                try_run("kubectl", &apply, &list()).map(drop)
            }
            Column::Flux => self.flux.apply_once(PART, objects),
            Column::Argo(mode) => self.argo.apply_once(mode, PART, objects),
            Column::Helm(helm) => helm.apply(PART, objects).map(drop),
        }
    }

    #[track_caller]
    fn applies(&mut self, (column, before): (Column, Option<Column>), objects: &[Value]) {
        self.apply(column, objects).unwrap_or_else(|error| panic!("{column:?} after {before:?}: {error}"));
        assert_eq!(stored(PART), applied(objects, 1), "{column:?} after {before:?}");
    }

    /// Each applies what each one has applied, and itself changes nothing.
    fn walks(&mut self, columns: &[Column], objects: &[Value]) -> usize {
        let (mut before, mut steps) = (None, 0);
        for column in walk(columns.len()).into_iter().map(|column| columns[column]) {
            let versions_before = versions();
            self.applies((column, before), objects);
            if before == Some(column) && column != REPLACE {
                assert_eq!(versions(), versions_before, "{column:?} a second time");
            }
            before = Some(column);
            steps += 1;
        }
        steps
    }

    /// Each creates the objects, and then kubectl applies them in both ways.
    fn creates(&mut self, columns: &[Column], objects: &[Value]) -> usize {
        let creators: Vec<Column> = columns.iter().copied().filter(|column| *column != REPLACE).collect();
        for creator in &creators {
            kubectl(&["delete", "usn,usu", "-l", &format!("appliers={PART}"), timeout()]);
            self.applies((*creator, None), objects);
            for tool in [Kubectl::Forced, Kubectl::ClientSide] {
                self.applies((Column::Kubectl(tool), Some(*creator)), objects);
            }
        }
        3 * creators.len()
    }
}

/// `kubectl replace` creates nothing, and takes away the finalizer, which is then set again.
const REPLACE: Column = Column::Kubectl(Kubectl::Replace);

/// Each column after each one: a walk that takes each step once.
fn walk(columns: usize) -> Vec<usize> {
    let mut left: BTreeMap<usize, Vec<usize>> = (0..columns).map(|column| (column, (0..columns).collect())).collect();
    let (mut path, mut found) = (vec![0], Vec::new());
    while let Some(&last) = path.last() {
        match left.get_mut(&last).and_then(Vec::pop) {
            Some(next) => path.push(next),
            None => found.extend(path.pop()),
        }
    }
    found.reverse();
    found
}

/// The versions of all objects.
fn versions() -> Vec<Value> {
    let all = get(&["usn,usu", "-l", &format!("appliers={PART}")]).unwrap();
    all["items"].as_array().unwrap().iter().map(|object| object["metadata"]["resourceVersion"].clone()).collect()
}

#[test]
fn every_tool_applies_what_every_other_tool_has_applied() {
    if !is_long("the matrix of tools") {
        return;
    }
    let mut columns = vec![Column::Kubectl(Kubectl::ClientSide), Column::Kubectl(Kubectl::ServerSide)];
    columns.extend([Column::Kubectl(Kubectl::Forced), Column::Kubectl(Kubectl::Replace), Column::Prune, Column::Flux]);
    columns.extend([Mode::ClientSide, Mode::ServerSide].map(Column::Argo));
    columns.extend([Helm::Three, Helm::Four].into_iter().filter(|helm| helm.is_there()).map(Column::Helm));
    let Some(argo) = Argo::start(Mode::ClientSide) else { return };
    let mut tools = Tools { flux: Flux::start(), argo };
    let objects = objects(PART);
    let _applied = Applied(PART);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    try_run("kubectl", &["create", "-f", "-"], &list).unwrap();
    let started = Instant::now();
    let applied_times = tools.walks(&columns, &objects) + tools.creates(&columns, &objects);
    println!(
        "| matrix | {} objects, {} columns | {applied_times} times applied, 0 failures, 0 second changes | {:.0} s |",
        objects.len(),
        columns.len(),
        started.elapsed().as_secs_f64()
    );
    let _gone = [Helm::Three, Helm::Four].map(|helm| helm.uninstall(PART));
}
