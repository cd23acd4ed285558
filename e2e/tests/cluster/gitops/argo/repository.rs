//! A git repository in a folder, from which Argo CD's repository server fetches.

use crate::support::cluster::run;
use serde_json::Value;
use std::fs;

pub(super) struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    pub(super) fn new() -> Self {
        let repository = Self { folder: tempfile::tempdir().unwrap() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    pub(super) fn url(&self) -> String {
        format!("file://{}", self.folder.path().display())
    }

    /// A commit in which this folder has these objects, a file for each; its hash.
    pub(super) fn commit(&self, part: &str, objects: &[Value]) -> String {
        let folder = self.folder.path().join(part);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir(&folder).unwrap();
        // A folder without files is none for git.
        fs::write(folder.join("README.md"), part).unwrap();
        for (number, object) in objects.iter().enumerate() {
            fs::write(folder.join(format!("{number}.yaml")), object.to_string()).unwrap();
        }
        self.git(&["add", "--all"]);
        let author = ["-c", "user.name=test", "-c", "user.email=test@usnet.dev"];
        self.git(&[author.as_slice(), &["commit", "--quiet", "--allow-empty", "-m", part]].concat());
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    fn git(&self, arguments: &[&str]) -> String {
        run("git", &[&["-C", self.folder.path().to_str().unwrap()], arguments].concat())
    }
}
