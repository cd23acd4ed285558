//! `usnet node bundle`: diagnostics of a node without secrets, as one document for `kubectl usnet
//! support-bundle`: the files of usnet, and the engines' own outputs.

use super::output::{Error, Output};
use super::{attachments, ports};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use usnet_common::display::ErrorChain;
use usnet_common::redact::Redactor;
use usnet_crds::EngineKind;
use usnet_dataplane::inspect;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::paths::NodePaths;
use usnet_node_output::bundle::NodeBundle;

/// The maximum number of bytes that are kept of one file.
const FILE_MAX: usize = 4 << 20;
/// The maximum number of bytes of all files, because they are one document.
const TOTAL_MAX: usize = 32 << 20;
/// The maximum number of network files.
const NETWORKS_MAX: usize = 2000;

/// The document, while it is filled.
#[derive(Default)]
struct Bundle(NodeBundle);

/// Returns the document as JSON.
pub(super) fn render(paths: &NodePaths) -> Result<String, Error> {
    serde_json::to_string(&collect(paths)).map_err(|error| Error::Print(error.into()))
}

/// Reads everything. What cannot be read is listed in [`NodeBundle::errors`].
pub(super) fn collect(paths: &NodePaths) -> NodeBundle {
    let mut bundle = Bundle::default();
    let mut redactor = Redactor::default();
    remember_secrets(paths, &mut redactor, &mut bundle);
    match attachments::render(paths, Output::Json, None) {
        Ok(text) => bundle.add("attachments.json", &text),
        Err(error) => bundle.fail("attachments.json", &ErrorChain(&error).to_string()),
    }
    match ports::render(paths, Output::Json, None, None) {
        Ok((text, _)) => bundle.add("ports.json", &text),
        Err(error) => bundle.fail("ports.json", &ErrorChain(&error).to_string()),
    }
    for (name, path) in [
        ("state.json", paths.state_file()),
        ("node.json", paths.node_file()),
        ("unselected.json", paths.unselected_file()),
        ("shared-dirs.json", paths.shared_dirs_file()),
        ("definition-ipam.json", paths.definition_ipam_file()),
        ("history.jsonl", paths.history_file()),
        ("calls.jsonl", paths.calls_file()),
        ("garbage.jsonl", paths.garbage_file()),
    ] {
        bundle.add_file(name, &path);
    }
    add_networks(paths, &mut bundle);
    for (name, path) in [("kernel.txt", "/proc/version"), ("mounts.txt", "/proc/self/mountinfo")] {
        bundle.add_file(name, Path::new(path));
    }
    bundle.add_listing("run.txt", &paths.run);
    for engine in EngineKind::ALL {
        add_engine(paths, engine, &mut bundle);
    }
    let Bundle(mut bundle) = bundle;
    for text in bundle.files.values_mut() {
        *text = redactor.file(text);
    }
    // An earlier file may contain a secret that was found in a later one.
    for text in bundle.files.values_mut().chain(bundle.errors.values_mut()) {
        *text = redactor.text(text);
    }
    bundle
}

/// Secrets of memifs and of IPAM plugins are in records, which are not part of the bundle.
fn remember_secrets(paths: &NodePaths, redactor: &mut Redactor, bundle: &mut Bundle) {
    // Opening the journal would create it.
    if !paths.attachments().exists() {
        return;
    }
    match Journal::open(paths).and_then(|journal| journal.records()) {
        Ok(read) => {
            for record in read.records {
                if let Ok(mut document) = serde_json::to_value(&record) {
                    redactor.document(&mut document);
                }
            }
        }
        Err(error) => bundle.fail("secrets of records", &ErrorChain(&error).to_string()),
    }
}

fn add_networks(paths: &NodePaths, bundle: &mut Bundle) {
    let files = match fs::read_dir(paths.networks()) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => return bundle.fail("networks", &error.to_string()),
    };
    let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.len() > NETWORKS_MAX {
        bundle.fail("networks", &format!("{} files, of which {NETWORKS_MAX} are kept", files.len()));
    }
    for path in files.iter().take(NETWORKS_MAX) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        bundle.add_file(&format!("networks/{name}"), path);
    }
}

/// An engine that has no socket is not installed, unless the node has had it.
fn add_engine(paths: &NodePaths, engine: EngineKind, bundle: &mut Bundle) {
    let socket = paths.engine_socket(engine);
    let folder = match engine {
        EngineKind::OpenVswitch => "open-vswitch",
        EngineKind::Vpp => "vpp",
    };
    if !socket.exists() {
        match NodeFile::read(paths) {
            Ok(Some(file)) if file.engines_seen.contains(&engine) => {
                bundle.fail(folder, &format!("{} does not exist", socket.display()));
            }
            Ok(_) => {}
            Err(error) => bundle.fail("node.json", &ErrorChain(&error).to_string()),
        }
        return;
    }
    for text in inspect::texts(engine, &socket) {
        let name = format!("{folder}/{}.txt", text.name);
        match text.text {
            Ok(text) => bundle.add(&name, &text),
            Err(error) => bundle.fail(&name, &ErrorChain(&error).to_string()),
        }
    }
}

impl Bundle {
    fn fail(&mut self, what: &str, why: &str) {
        self.0.errors.insert(what.to_owned(), why.to_owned());
    }

    fn add(&mut self, name: &str, text: &str) {
        let total: usize = self.0.files.values().map(String::len).sum();
        if total + text.len().min(FILE_MAX) > TOTAL_MAX {
            return self.fail(name, &format!("left out: the files of the node have more than {TOTAL_MAX} bytes"));
        }
        let kept = text.get(..text.floor_char_boundary(FILE_MAX)).unwrap_or_default();
        if kept.len() < text.len() {
            self.fail(name, &format!("only its first {FILE_MAX} bytes of {} are kept", text.len()));
        }
        self.0.files.insert(name.to_owned(), kept.to_owned());
    }

    /// Adds a file. A missing file is no error: many are only created when they are needed.
    fn add_file(&mut self, name: &str, path: &Path) {
        let read = || -> io::Result<String> {
            let mut bytes = Vec::new();
            let file = File::open(path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not a file"));
            }
            file.take(FILE_MAX as u64 + 1).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        match read() {
            Ok(text) => self.add(name, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.fail(name, &error.to_string()),
        }
    }

    /// Adds a recursive listing of a folder, with sockets and mounts of pods.
    fn add_listing(&mut self, name: &str, folder: &Path) {
        let mut lines = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                let what = match () {
                    () if kind.is_dir() => "folder",
                    () if kind.is_file() => "file",
                    () => "socket or link",
                };
                lines.push(format!("{what} {}", entry.path().display()));
                if kind.is_dir() {
                    folders.push(entry.path());
                }
            }
            if lines.len() > 10_000 {
                self.fail(name, "only the first entries are kept");
                break;
            }
        }
        lines.sort();
        self.add(name, &(lines.join("\n") + "\n"));
    }
}
