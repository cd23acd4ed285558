//! The `startup.conf` of a real VPP: without huge pages, PCI devices and network ports, all files
//! in one folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What differs between two VPPs of tests.
pub(crate) struct Configuration<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    /// The first part of the names of its shared memory under `/dev/shm`.
    pub(crate) prefix: &'a str,
    pub(crate) plugins: &'a [String],
}

impl Configuration<'_> {
    /// The file's text.
    pub(crate) fn text(&self) -> String {
        let folder = self.folder.display();
        let prefix = self.prefix;
        // 64 MiB of main heap are too few to start, and the default of buffers and statistics takes
        // 300 MiB more.
        let mut text = format!(
            "unix {{ nodaemon nosyslog nobanner nocolor runtime-dir {folder} cli-listen {folder}/cli.sock \
             log {folder}/cli.log poll-sleep-usec 100 }}\n\
             memory {{ main-heap-size 256M main-heap-page-size 4k }}\n\
             buffers {{ page-size 4k buffers-per-numa 4096 }}\n\
             socksvr {{ socket-name {folder}/api.sock }}\n\
             api-segment {{ prefix {prefix} }}\n\
             statseg {{ socket-name {folder}/stats.sock size 32M page-size 4k per-node-counters off }}\n\
             plugins {{\n"
        );
        if let Some(path) = plugin_folder(self.program) {
            let _infallible = writeln!(text, "  path {}", path.display());
        }
        text.push_str("  plugin default { disable }\n");
        for plugin in self.plugins {
            let _infallible = writeln!(text, "  plugin {plugin} {{ enable }}");
        }
        text.push_str("}\n");
        text
    }
}

/// The plugins of a VPP that is not installed where it was built for:
/// `<prefix>/lib/<architecture>/vpp_plugins`.
#[must_use]
pub fn plugin_folder(program: &Path) -> Option<PathBuf> {
    let libraries = program.parent()?.parent()?.join("lib");
    let folders = libraries.read_dir().ok()?;
    folders.filter_map(Result::ok).map(|folder| folder.path().join("vpp_plugins")).find(|path| path.is_dir())
}
