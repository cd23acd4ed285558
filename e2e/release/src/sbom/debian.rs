//! The Debian packages whose files are in an image. Their licenses are texts in the image.

use serde_json::{Value, json};

use super::{SbomError, Subject, complete};
use crate::packages::Package;

/// The distribution that packages are of, such as `debian` `12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Its name in references to packages.
    pub id: String,
    /// Its version.
    pub version: String,
}

impl Distribution {
    /// From the text of `/etc/os-release`. Debian's development version has no number.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.map(|value| value.trim_matches('"').to_owned())
        };
        let or = |value: Option<String>, default: &str| value.unwrap_or_else(|| default.to_owned());
        Self { id: or(field("ID"), "debian"), version: or(field("VERSION_ID"), "unstable") }
    }
}

/// The list of an image with this name and version.
///
/// # Errors
/// When the time is none that a calendar has.
pub fn document(
    (name, version): (&str, &str),
    packages: &[Package],
    distribution: &Distribution,
    time: u64,
) -> Result<Value, SbomError> {
    let component = |package: &Package| {
        let url = package_url(package, distribution);
        json!({
            "type": "library",
            "bom-ref": url,
            "name": package.name,
            "version": package.version,
            "purl": url,
        })
    };
    let mut needed: Vec<String> = packages.iter().map(|package| package_url(package, distribution)).collect();
    needed.sort();
    let dependencies = vec![json!({"ref": name, "dependsOn": needed})];
    let components = packages.iter().map(component).collect();
    complete(Subject { kind: "container", name, version }, components, dependencies, time)
}

/// A reference by which scanners find vulnerabilities: also with the package of sources.
fn package_url(package: &Package, distribution: &Distribution) -> String {
    let Package { name, version, architecture, source } = package;
    let Distribution { id, version: release } = distribution;
    let (path, version, upstream) = (encode(name), encode(version), encode(source));
    format!("pkg:deb/{id}/{path}@{version}?arch={architecture}&distro={id}-{release}&upstream={upstream}")
}

/// Debian's names and versions have these characters besides those that stand for themselves.
fn encode(text: &str) -> String {
    text.replace('+', "%2B").replace(':', "%3A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_name_version_and_source() {
        let package = |name: &str, source: &str| Package {
            name: name.to_owned(),
            version: "1:3.1.0-2+deb12u1".to_owned(),
            architecture: "amd64".to_owned(),
            source: source.to_owned(),
        };
        let release = Distribution::parse("PRETTY_NAME=\"Debian 12\"\nVERSION_ID=\"12\"\nID=debian\n");
        let packages = [package("libstdc++6", "gcc-12"), package("libc6", "glibc")];
        let document = document(("image", "0.1.0"), &packages, &release, 0).unwrap();
        let urls = [("libc6", "glibc"), ("libstdc%2B%2B6", "gcc-12")].map(|(name, source)| {
            format!("pkg:deb/debian/{name}@1%3A3.1.0-2%2Bdeb12u1?arch=amd64&distro=debian-12&upstream={source}")
        });
        assert_eq!(document["components"][0]["purl"], urls[0]);
        assert_eq!(document["components"][1]["name"], "libstdc++6");
        assert_eq!(document["dependencies"], json!([{"ref": "image", "dependsOn": urls}]));
        assert_eq!(document["metadata"]["component"]["type"], "container");
        assert_eq!(document["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_distribution_without_a_number_is_in_development() {
        let expected = Distribution { id: "debian".to_owned(), version: "unstable".to_owned() };
        assert_eq!(Distribution::parse("ID=debian\n"), expected);
    }
}
