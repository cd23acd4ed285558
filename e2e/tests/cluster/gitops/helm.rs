//! Helm, with a chart of the objects to apply.

use crate::support::cluster::{timeout, try_run};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A version of Helm, and the way in which it applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Helm {
    /// By merge patches.
    Three,
    /// Server-side.
    Four,
}

impl Helm {
    const fn program(self) -> &'static str {
        match self {
            Self::Three => "helm",
            Self::Four => "helm4",
        }
    }

    /// Whether it is there.
    pub(super) fn is_there(self) -> bool {
        let answer = try_run(self.program(), &["version"], "");
        if let Err(error) = &answer {
            println!("SKIPPED: {self:?}: {error}; `make gitops` runs this");
        }
        answer.is_ok()
    }

    /// Applies these objects as a release of this name, taking over what others have applied.
    pub(super) fn apply(self, release: &str, objects: &[Value]) -> Result<String, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        write_chart(folder.path(), release, objects).map_err(|error| error.to_string())?;
        let chart = folder.path().to_string_lossy().into_owned();
        let mut arguments =
            vec!["upgrade", "--install", release, &chart, "-n", "default", "--take-ownership", timeout()];
        if self == Self::Four {
            // It would do as the release before, which may be of Helm 3.
            arguments.extend(["--server-side=true", "--force-conflicts"]);
        }
        try_run(self.program(), &arguments, "")
    }

    /// Deletes all of a release.
    pub(super) fn uninstall(self, release: &str) -> Result<String, String> {
        try_run(self.program(), &["uninstall", release, "-n", "default", "--ignore-not-found", timeout()], "")
    }
}

fn write_chart(folder: &Path, release: &str, objects: &[Value]) -> std::io::Result<()> {
    let chart = json!({"apiVersion": "v2", "name": release, "version": "0.1.0"});
    fs::write(folder.join("Chart.yaml"), chart.to_string())?;
    fs::create_dir(folder.join("templates"))?;
    for (number, object) in objects.iter().enumerate() {
        fs::write(folder.join(format!("templates/{number}.yaml")), object.to_string())?;
    }
    Ok(())
}
