//! A folder of manifests on disk, and the last valid content of each file (IO).

use super::document::{self, Document};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use usnet_node::problem::Problem;

/// The maximum size of a file in bytes: far more than thousands of networks need, and small enough
/// that a file that was put there by mistake does not exceed the agent's memory limit.
const FILE_MAX: u64 = 16 << 20;

/// The text of each file, or why it cannot be read, by name.
pub(crate) type Texts = BTreeMap<String, Result<String, String>>;

/// The files of a folder, each with its last valid content.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    texts: Option<Texts>,
    files: BTreeMap<String, File>,
    /// Why the folder cannot be listed.
    problem: Option<Problem>,
}

#[derive(Debug, Default)]
struct File {
    /// The documents of the file when it could be used last.
    good: Option<Vec<Document>>,
    /// Why the file cannot be used now.
    problem: Option<Problem>,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, texts: None, files: BTreeMap::new(), problem: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The present texts of the files. Hidden files, and files with other extensions, are not
    /// manifests.
    pub(crate) fn texts(&self) -> io::Result<Texts> {
        let mut texts = Texts::new();
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_manifest = matches!(path.extension().and_then(|end| end.to_str()), Some("yaml" | "yml" | "json"));
            if is_manifest && !name.starts_with('.') {
                texts.insert(name, text(&path).map_err(|error| error.to_string()));
            }
        }
        Ok(texts)
    }

    /// Updates the documents from the current texts; returns whether anything changed.
    pub(crate) fn update(&mut self, texts: io::Result<Texts>) -> bool {
        let texts = match texts {
            Ok(texts) => texts,
            Err(error) => {
                let message = format!("cannot read the folder {}: {error}", self.path.display());
                let problem = Some(Problem { message, ..Problem::default() });
                return std::mem::replace(&mut self.problem, problem.clone()) != problem;
            }
        };
        let was_unreadable = self.problem.take().is_some();
        let known = self.texts.take().unwrap_or_default();
        self.files.retain(|name, _| texts.contains_key(name));
        let changed: Vec<_> = texts.iter().filter(|(name, text)| known.get(*name) != Some(text)).collect();
        for (name, text) in &changed {
            let file = self.files.entry((*name).clone()).or_default();
            let unreadable = |error: &String| {
                let message = format!("cannot read the file: {error}");
                Box::new(Problem { file: (*name).clone(), message, ..Problem::default() })
            };
            match text.as_deref().map_err(unreadable).and_then(|text| document::read(name, text)) {
                Ok(documents) => *file = File { good: Some(documents), problem: None },
                Err(problem) => file.problem = Some(*problem),
            }
        }
        let has_changed = was_unreadable || !changed.is_empty() || known.len() != texts.len();
        self.texts = Some(texts);
        has_changed
    }

    /// Whether every network of this folder is known. A file that was never valid may contain any
    /// network.
    pub(crate) fn is_complete(&self) -> bool {
        self.texts.is_some() && self.files.values().all(|file| file.good.is_some())
    }

    /// The valid documents, each with the name of its file.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&str, &Document)> {
        let files = self.files.iter();
        files.flat_map(|(name, file)| file.good.iter().flatten().map(move |document| (name.as_str(), document)))
    }

    /// Why the folder or its files cannot be used.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problem.iter().chain(self.files.values().filter_map(|file| file.problem.as_ref()))
    }
}

fn text(path: &Path) -> io::Result<String> {
    let length = fs::metadata(path)?.len();
    if length > FILE_MAX {
        return Err(io::Error::other(format!("it has {length} bytes; the maximum is {FILE_MAX}")));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(name: &str) -> String {
        format!(
            "apiVersion: usnet.dev/v1alpha1\nkind: UserspaceNetwork\nmetadata: {{name: {name}}}\nspec: {{engine: OVS, namespaceSelector: {{}}}}\n"
        )
    }

    fn files(folder: &Folder) -> Vec<&str> {
        folder.documents().map(|(file, _)| file).collect()
    }

    #[test]
    fn a_file_that_breaks_keeps_its_documents_and_one_that_is_removed_does_not() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(place.path().to_owned());
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        write("a.yaml", &network("a"));
        write("b.yml", &network("b"));
        write(".hidden.yaml", "[");
        write("notes.txt", "[");
        assert!(folder.update(folder.texts()));
        assert_eq!((files(&folder), folder.is_complete()), (vec!["a.yaml", "b.yml"], true));
        assert!(!folder.update(folder.texts()), "nothing has changed");

        write("a.yaml", "[");
        assert!(folder.update(folder.texts()));
        assert_eq!((files(&folder), folder.is_complete()), (vec!["a.yaml", "b.yml"], true));
        assert_eq!(folder.problems().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), ["a.yaml"]);

        fs::remove_file(place.path().join("a.yaml")).unwrap();
        assert!(folder.update(folder.texts()));
        assert_eq!((files(&folder), folder.problems().count()), (vec!["b.yml"], 0));
    }

    #[test]
    fn a_folder_that_disappears_is_not_an_empty_one() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(place.path().join("manifests"));
        assert!(folder.update(folder.texts()));
        assert!(!folder.is_complete());
        assert_eq!(folder.problems().count(), 1);
        assert!(!folder.update(folder.texts()), "it is reported once");
        fs::create_dir(folder.path()).unwrap();
        assert!(folder.update(folder.texts()));
        assert!(folder.is_complete() && folder.problems().count() == 0);
    }

    #[test]
    fn a_file_that_could_never_be_used_leaves_the_folder_incomplete() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(place.path().to_owned());
        fs::write(place.path().join("a.yaml"), "[").unwrap();
        folder.update(folder.texts());
        assert!(!folder.is_complete());
    }
}
