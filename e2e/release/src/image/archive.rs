//! An archive of images that all container engines load: an OCI image layout, which also has the
//! `manifest.json` of `docker save`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Image, ImageError, name};
use crate::digest;
use crate::tarball::{Tarball, TarballError};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIGURATION: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The name of an image.
const NAME: &str = "io.containerd.image.name";

/// Writes images into one archive, which appears whole or not at all. Those of one name, next to
/// each other, are one image for several architectures. `time`, in seconds since 1970, is when they
/// were made.
///
/// # Errors
/// When a file cannot be read or written.
pub fn write(path: &Path, images: &[Image], time: u64) -> Result<(), ImageError> {
    let mut extension = path.extension().unwrap_or_default().to_owned();
    extension.push(format!(".{}.part", std::process::id()));
    let scratch = path.with_extension(extension);
    let result = write_to(&scratch, images, time)
        .and_then(|()| fs::rename(&scratch, path).map_err(|source| ImageError::File { path: path.to_owned(), source }));
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&scratch);
    }
    result
}

/// The names of the images in an archive.
///
/// # Errors
/// When it cannot be read, or is none that [`write()`] wrote.
pub fn names(path: &Path) -> Result<Vec<String>, ImageError> {
    let failed = |source| ImageError::File { path: path.to_owned(), source };
    let mut archive = tar::Archive::new(fs::File::open(path).map_err(failed)?);
    for entry in archive.entries().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().map_err(failed)?.as_ref() != Path::new("index.json") {
            continue;
        }
        let index: Value = serde_json::from_reader(entry).map_err(|error| failed(error.into()))?;
        let manifests = index.get("manifests").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let name = |manifest: &Value| manifest.get("annotations")?.get(NAME)?.as_str().map(ToOwned::to_owned);
        return Ok(manifests.iter().filter_map(name).collect());
    }
    Err(failed(std::io::ErrorKind::InvalidData.into()))
}

/// A file of an archive, which is named by its digest.
struct Blob {
    media_type: &'static str,
    digest: String,
    size: u64,
}

impl Blob {
    fn add_json(tarball: &mut Tarball, media_type: &'static str, content: &Value) -> Result<Self, TarballError> {
        let text = content.to_string();
        let blob = Self { media_type, digest: digest::of_bytes(text.as_bytes()), size: text.len() as u64 };
        tarball.content(&blob.path(), text.as_bytes())?;
        Ok(blob)
    }

    fn add_layer(tarball: &mut Tarball, layer: &Path) -> Result<Self, ImageError> {
        let failed = |source| ImageError::File { path: layer.to_owned(), source };
        let digest = digest::of_file(layer).map_err(failed)?;
        let blob = Self { media_type: LAYER, digest, size: fs::metadata(layer).map_err(failed)?.len() };
        tarball.file(&blob.path(), layer)?;
        Ok(blob)
    }

    fn path(&self) -> PathBuf {
        Path::new("blobs/sha256").join(&self.digest)
    }

    fn name(&self) -> String {
        format!("sha256:{}", self.digest)
    }

    fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.name(), "size": self.size})
    }
}

fn write_to(path: &Path, images: &[Image], time: u64) -> Result<(), ImageError> {
    let mut tarball = Tarball::create(path, time)?;
    tarball.content(Path::new("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let (mut named, mut list) = (Vec::new(), Vec::new());
    for images in images.chunk_by(|one, other| one.name == other.name) {
        let mut manifests = Vec::new();
        for image in images {
            let (manifest, of_docker) = add_image(&mut tarball, image, time)?;
            manifests.push(manifest);
            // `docker save` has one image of a name.
            if manifests.len() == 1 {
                list.push(of_docker);
            }
        }
        let mut descriptor = match manifests.as_slice() {
            [only] => only.clone(),
            all => Blob::add_json(&mut tarball, INDEX, &index(all))?.descriptor(),
        };
        if let (Some(fields), Some(image)) = (descriptor.as_object_mut(), images.first()) {
            let reference = name::complete(&image.name);
            // containerd and Docker take the name from the first, Podman from the second.
            let names = json!({NAME: reference, "org.opencontainers.image.ref.name": reference});
            fields.insert("annotations".to_owned(), names);
        }
        named.push(descriptor);
    }
    tarball.content(Path::new("index.json"), index(&named).to_string().as_bytes())?;
    tarball.content(Path::new("manifest.json"), json!(list).to_string().as_bytes())?;
    tarball.finish()?;
    Ok(())
}

fn index(manifests: &[Value]) -> Value {
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
}

/// Adds the files of an image. Returns the descriptor of its manifest, and its entry for Docker.
fn add_image(tarball: &mut Tarball, image: &Image, time: u64) -> Result<(Value, Value), ImageError> {
    let layer = Blob::add_layer(tarball, &image.layer)?;
    let configuration = Blob::add_json(tarball, CONFIGURATION, &configuration(image, &layer, time)?)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": configuration.descriptor(),
        "layers": [layer.descriptor()],
    });
    let manifest = Blob::add_json(tarball, MANIFEST, &manifest)?;
    let descriptor = json!({
        "mediaType": MANIFEST,
        "digest": manifest.name(),
        "size": manifest.size,
        "platform": {"architecture": image.architecture, "os": "linux"},
    });
    let of_docker = json!({"Config": configuration.path(), "RepoTags": [image.name], "Layers": [layer.path()]});
    Ok((descriptor, of_docker))
}

fn configuration(image: &Image, layer: &Blob, time: u64) -> Result<Value, ImageError> {
    let created = i64::try_from(time).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    let created = created.ok_or(ImageError::Time(time))?.to_string();
    Ok(json!({
        "created": created,
        "architecture": image.architecture,
        "os": "linux",
        "config": {
            "Entrypoint": image.settings.entrypoint,
            "Env": image.settings.environment,
            "Labels": image.settings.labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.name()]},
        "history": [{"created": created}],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Settings;
    use std::collections::BTreeMap;
    use std::io::Read;

    /// The files of an archive by name.
    fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(fs::File::open(path).unwrap());
        let read = |entry: std::io::Result<tar::Entry<'_, fs::File>>| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().display().to_string(), content)
        };
        archive.entries().unwrap().map(read).collect()
    }

    /// The name of the file that a descriptor is of.
    fn blob(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> String {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let content = &files[&format!("blobs/sha256/{digest}")];
        assert_eq!(digest::of_bytes(content), digest);
        assert_eq!(descriptor["size"], content.len());
        format!("blobs/sha256/{digest}")
    }

    #[test]
    fn an_image_for_two_architectures_is_one_name_with_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let image = |name: &str, architecture| {
            let layer = folder.path().join(architecture);
            fs::write(&layer, format!("programs for {architecture}")).unwrap();
            Image { name: name.to_owned(), architecture, settings: Settings::default(), layer }
        };
        let images = [image("x:1", "amd64"), image("x:1", "arm64"), image("other:1", "arm64")];
        let path = folder.path().join("x.tar");
        write(&path, &images, 0).unwrap();
        assert_eq!(names(&path).unwrap(), ["docker.io/library/x:1", "docker.io/library/other:1"]);
        let files = files(&path);
        let json = |name: &str| -> Value { serde_json::from_slice(&files[name]).unwrap() };
        let index = json("index.json");
        assert_eq!([&index["manifests"][0]["mediaType"], &index["manifests"][1]["mediaType"]], [INDEX, MANIFEST]);
        let both = json(&blob(&files, &index["manifests"][0]));
        for (number, architecture) in ["amd64", "arm64"].into_iter().enumerate() {
            let descriptor = &both["manifests"][number];
            assert_eq!(descriptor["platform"], json!({"architecture": architecture, "os": "linux"}));
            let manifest = json(&blob(&files, descriptor));
            assert_eq!(json(&blob(&files, &manifest["config"]))["architecture"], architecture);
            let layer = &files[&blob(&files, &manifest["layers"][0])];
            assert_eq!(String::from_utf8_lossy(layer), format!("programs for {architecture}"));
        }
        assert_eq!(json("manifest.json").as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn everything_that_an_archive_names_is_in_it_with_that_digest() {
        let folder = tempfile::tempdir().unwrap();
        let layer = folder.path().join("layer");
        fs::write(&layer, "files").unwrap();
        let settings = Settings { entrypoint: vec!["/x".to_owned()], ..Settings::default() };
        let images = [Image { name: "registry.example/x:1".to_owned(), architecture: "amd64", settings, layer }];
        let path = folder.path().join("x.tar");
        write(&path, &images, 1_700_000_000).unwrap();
        assert_eq!(names(&path).unwrap(), ["registry.example/x:1"]);

        let files = files(&path);
        let json = |name: &str| -> Value { serde_json::from_slice(&files[name]).unwrap() };
        let blob = |descriptor: &Value| blob(&files, descriptor);
        let manifest = json(&blob(&json("index.json")["manifests"][0]));
        let configuration = blob(&manifest["config"]);
        assert_eq!(json(&configuration)["created"], "2023-11-14T22:13:20Z");
        assert_eq!(json(&configuration)["config"]["Entrypoint"], json!(["/x"]));
        assert_eq!(json(&configuration)["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        assert_eq!(files[&blob(&manifest["layers"][0])], b"files");
        let of_docker = &json("manifest.json")[0];
        assert_eq!(of_docker["RepoTags"][0], "registry.example/x:1");
        assert_eq!(of_docker["Config"], configuration.as_str());
        assert_eq!(of_docker["Layers"][0], blob(&manifest["layers"][0]).as_str());
    }
}
