//! `config/samples` in one file, with an image that clusters can pull.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why the samples could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// A file could not be read.
    #[error("cannot read the samples: {0}")]
    Read(PathBuf, #[source] io::Error),
    /// A sample has another image than that of this version.
    #[error("{path} has an image of another version; it has to be {image}")]
    Image {
        /// The file.
        path: PathBuf,
        /// What it should have.
        image: String,
    },
}

const HEADER: &str = "\
# The samples of usnet. Choose one, or apply all of them; some networks stay not Ready then, because
# they need a bridge or a NIC of your nodes:
#   kubectl label namespace default NETWORK-LABEL=allowed   # of namespaceSelector, such as usnet.dev/blue
#   kubectl apply -f samples.yaml
";

/// The images of samples, without the name of the image of usnet before them.
const IMAGES: [&str; 2] = ["tools", "openvswitch"];

/// All samples, in the order of their names, with images beside `image` (a name without a tag),
/// that of usnet. Each has its comment.
///
/// # Errors
/// When a sample cannot be read, or has an image of another version.
pub fn join(folder: &Path, image: &str, version: &str) -> Result<String, SamplesError> {
    let unreadable = |source| SamplesError::Read(folder.to_owned(), source);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut joined = HEADER.to_owned();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|source| SamplesError::Read(path.clone(), source))?;
        let configured = IMAGES.map(|name| format!("image: usnet-{name}:{version}\n"));
        let number = configured.iter().map(|configured| text.matches(configured).count()).sum::<usize>();
        if text.matches("image: ").count() != number {
            return Err(SamplesError::Image { path, image: configured.join("or ").replace('\n', " ") });
        }
        joined.push_str("---\n");
        let released = |text: String, name: &str| {
            text.replace(&format!("image: usnet-{name}:{version}\n"), &format!("image: {image}-{name}:{version}\n"))
        };
        joined.push_str(&IMAGES.into_iter().fold(text, released));
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_another_version_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b.yaml"), "# B\nimage: usnet-tools:0.1.0\n").unwrap();
        fs::write(folder.path().join("a.yaml"), "# A\nimage: usnet-openvswitch:0.1.0\n").unwrap();
        fs::write(folder.path().join("README.md"), "no sample").unwrap();
        let joined = join(folder.path(), "registry.example/usnet", "0.1.0").unwrap();
        let expected = "---\n# A\nimage: registry.example/usnet-openvswitch:0.1.0\n---\n# B\nimage: registry.example/usnet-tools:0.1.0\n";
        assert_eq!(joined.strip_prefix(HEADER), Some(expected));
        let error = join(folder.path(), "x", "0.2.0").unwrap_err().to_string();
        assert!(error.contains("a.yaml") && error.contains("usnet-tools:0.2.0"), "{error}");
    }
}
