//! Which build of usnet a program is.

use serde::Serialize;
use std::fmt;
use std::sync::LazyLock;

/// The version of this release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit of this build, which the build of a release sets.
pub const COMMIT: Option<&str> = option_env!("USNET_COMMIT");
/// The date of that commit, as 2026-11-27.
const COMMIT_DATE: Option<&str> = option_env!("USNET_COMMIT_DATE");
/// The number of digits of a commit in texts, as git abbreviates them in a large repository.
const DIGITS: usize = 12;

/// A build: the version, and of a release the commit with its date.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Build {
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

impl Build {
    /// The build of this program.
    pub fn current() -> Self {
        Self {
            version: VERSION.to_owned(),
            commit: COMMIT.map(abbreviated),
            date: COMMIT.and(COMMIT_DATE).map(str::to_owned),
        }
    }

    /// Reads the output of `--version`: the name of a program, and the text of its build.
    pub fn from_output(output: &str) -> Option<Self> {
        let mut words = output.split_whitespace().skip(1);
        let version = words.next()?.to_owned();
        let mut rest = words.skip(1).map(|word| word.trim_end_matches([',', ')']).to_owned());
        Some(Self { version, commit: rest.next(), date: rest.next() })
    }

    /// Whether two programs are known to be of different builds.
    pub fn differs_from(&self, other: &Self) -> bool {
        let commits = self.commit.as_ref().zip(other.commit.as_ref());
        self.version != other.version || commits.is_some_and(|(one, other)| one != other)
    }
}

impl fmt::Display for Build {
    /// Such as `0.1.0 (commit 8c2c1024abcd, 2026-11-25)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.version)?;
        let details = self.commit.iter().map(|commit| format!("commit {commit}")).chain(self.date.clone());
        let details: Vec<_> = details.collect();
        if details.is_empty() { Ok(()) } else { write!(formatter, " ({})", details.join(", ")) }
    }
}

/// The text of this build, for `--version`.
pub fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| Build::current().to_string());
    &TEXT
}

/// A commit of a checkout with changes keeps its ending `-dirty`.
fn abbreviated(commit: &str) -> String {
    let (digits, changes) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    digits.chars().take(DIGITS).collect::<String>() + changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_build_is_read_back() {
        let commit = Some(abbreviated("8c2c1024aabbccddeeff00112233445566778899-dirty"));
        let release = Build { version: "0.2.0".to_owned(), commit, date: Some("2026-11-25".to_owned()) };
        let plain = Build { commit: None, date: None, ..release.clone() };
        assert_eq!(release.to_string(), "0.2.0 (commit 8c2c1024aabb-dirty, 2026-11-25)");
        for build in [&release, &plain] {
            assert_eq!(Build::from_output(&format!("usnet {build}\n")).as_ref(), Some(build));
        }
        assert_eq!(Build::from_output("usnet"), None);
    }

    #[test]
    fn builds_differ_by_version_or_known_commits() {
        let build = |version: &str, commit: Option<&str>| Build {
            version: version.to_owned(),
            commit: commit.map(str::to_owned),
            date: None,
        };
        assert!(build("1", None).differs_from(&build("2", None)));
        assert!(build("1", Some("a")).differs_from(&build("1", Some("b"))));
        assert!(!build("1", Some("a")).differs_from(&build("1", None)));
    }
}
