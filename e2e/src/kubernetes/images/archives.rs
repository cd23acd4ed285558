//! The archives of the images of a test bed, built from programs of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use usnet_release::digest;
use usnet_release::drivers::{self, Drivers};
use usnet_release::image::{self, Build, Image, archive};
use usnet_release::libraries;
use usnet_release::tarball::Tarball;
use usnet_release::target::Target;

use crate::host::command::{self, CommandError};
use crate::host::requirements;
use crate::kubernetes::containerd;
use crate::kubernetes::images::error::ArchiveError;
use crate::kubernetes::images::names::{BUSYBOX_IMAGE, PAUSE_IMAGE, TESTPMD_IMAGE, TOOLS_IMAGE};
use crate::nodes::node::Node;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::Settings;

/// The DPDK drivers that pods use.
const DRIVERS: [&str; 4] = ["bus_vdev", "mempool_ring", "net_memif", "net_virtio"];

/// The file of this checkout, which is used for every version of usnet.
const CONTAINERFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/image/Containerfile");
const TOOLS_CONTAINERFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/image/tools/Containerfile");

/// The version of the code that builds images. Cached archives of other versions are not used.
const RECIPE: u32 = 4;

/// The programs of the machine that are put into images.
struct Sources {
    busybox: PathBuf,
    /// dpdk-testpmd with its libraries and drivers.
    testpmd: BTreeSet<PathBuf>,
}

/// Builds the archive of the images that do not depend on usnet, or finds it in the cache.
pub fn base_archive(folder: &TestbedFolder, settings: &Settings) -> Result<PathBuf, ArchiveError> {
    let sources = sources()?;
    let mut hashed: Vec<PathBuf> = sources.testpmd.iter().cloned().collect();
    hashed.push(sources.busybox.clone());
    let cache = settings.cache.join("images");
    fs::create_dir_all(&cache).map_err(|source| ArchiveError::file(&cache, source))?;
    let archive = cache.join(format!("base-{RECIPE}-{}.tar", digest_of(&hashed)?));
    if archive.exists() {
        return Ok(archive);
    }
    let busybox = busybox_layer(&folder.temporary(), &sources.busybox)?;
    let mut layer = Tarball::create(&folder.temporary().join("testpmd.layer"), 0)?;
    libraries::add(&mut layer, &sources.testpmd)?;
    add_busybox(&mut layer, &sources.busybox)?;
    libraries::add_merged_folders(&mut layer)?;
    let testpmd = layer.finish()?;
    let pause = ["/usr/bin/busybox", "sleep", "2147483647"];
    let images = [
        image_of(PAUSE_IMAGE, &pause, busybox.clone()),
        image_of(BUSYBOX_IMAGE, &[], busybox),
        image_of(TESTPMD_IMAGE, &["/usr/bin/dpdk-testpmd"], testpmd),
    ];
    archive::write(&archive, &images, 0)?;
    Ok(archive)
}

/// Builds the archive of usnet's images in `folder` like `make image`, from the static binaries
/// `usnet`, `userspace` and `usnet-tools` in `binaries`.
pub fn usnet_archive(folder: &Path, binaries: &Path, name: &str) -> Result<PathBuf, ArchiveError> {
    // By the name in the samples, and by the one that `kubectl usnet test` uses.
    let (repository, tag) = name.rsplit_once(':').unwrap_or((name, "latest"));
    let beside = format!("{repository}-tools:{tag}");
    let tools = |name| (name, TOOLS_CONTAINERFILE, "usnet-tools");
    let images = [(name, CONTAINERFILE, "usnet"), tools(TOOLS_IMAGE), tools(&beside)];
    // Earlier versions have no test program.
    let present = images.into_iter().filter(|(_, _, program)| *program == "usnet" || binaries.join(program).exists());
    let built = present.map(|(name, containerfile, program)| {
        let build = Build {
            containerfile: Path::new(containerfile),
            context: binaries,
            architecture: Target::node().architecture,
            arguments: &[("VERSION", "testbed"), ("REVISION", "testbed")],
            time: 0,
        };
        Ok(image::build(name, build, &folder.join(format!("{program}.layer")))?)
    });
    let built = built.collect::<Result<Vec<Image>, ArchiveError>>()?;
    let archive = folder.join("usnet.tar");
    archive::write(&archive, &built, 0)?;
    Ok(archive)
}

/// Returns the name of the image in an archive that `make image` wrote.
pub fn name_of(archive: &Path) -> Result<String, ArchiveError> {
    let names = archive::names(archive)?;
    let has_tag = |name: &String| image::name::tag(name).is_some();
    names.into_iter().find(has_tag).ok_or_else(|| ArchiveError::NoImage(archive.to_owned()))
}

/// Returns the archive of one image in the cache; `build` makes it, with its layer in a folder, if
/// there is none of this digest.
pub(super) fn cached(
    cache: &Path,
    (name, digest): (&str, &str),
    build: impl FnOnce(&Path) -> Result<Image, ArchiveError>,
) -> Result<PathBuf, ArchiveError> {
    let cache = cache.join("images");
    let failed = |source| ArchiveError::file(&cache, source);
    fs::create_dir_all(&cache).map_err(failed)?;
    let archive = cache.join(format!("{name}-{RECIPE}-{digest}.tar"));
    if !archive.exists() {
        let folder = tempfile::tempdir_in(&cache).map_err(failed)?;
        archive::write(&archive, &[build(folder.path())?], 0)?;
    }
    Ok(archive)
}

pub(super) fn image_of(name: &str, entrypoint: &[&str], layer: PathBuf) -> Image {
    let settings = image::Settings {
        entrypoint: entrypoint.iter().map(|&word| word.to_owned()).collect(),
        environment: vec!["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()],
        ..image::Settings::default()
    };
    Image { name: name.to_owned(), architecture: Target::node().architecture, settings, layer }
}

/// Returns one digest of several files.
pub(super) fn digest_of(files: &[PathBuf]) -> Result<String, ArchiveError> {
    let one = |file: &PathBuf| digest::of_file(file).map_err(|source| ArchiveError::file(file, source));
    let all = files.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(digest::of_bytes(all.join("\n").as_bytes()))
}

/// Loads an archive's images into a node's containerd.
pub fn import(node: &Node, archive: &Path) -> Result<(), CommandError> {
    // With --local, ctr unpacks the images itself: the transfer service of containerd does not
    // support the native snapshotter.
    let mut command = node.command("ctr");
    command.args(["--namespace=k8s.io", "images", "import", "--local", "--snapshotter", containerd::SNAPSHOTTER]);
    command::run(command.arg(archive)).map(drop)
}

fn sources() -> Result<Sources, ArchiveError> {
    let find = |name: &str| {
        let missing = || ArchiveError::file(Path::new(name), std::io::ErrorKind::NotFound.into());
        requirements::find_program(name).ok_or_else(missing)
    };
    let testpmd = drivers::needed_by(&[find("dpdk-testpmd")?], Drivers::Named(&DRIVERS))?;
    Ok(Sources { busybox: find("busybox")?, testpmd })
}

fn busybox_layer(folder: &Path, busybox: &Path) -> Result<PathBuf, ArchiveError> {
    let mut layer = Tarball::create(&folder.join("busybox.layer"), 0)?;
    add_busybox(&mut layer, busybox)?;
    layer.link(Path::new("/bin"), Path::new("usr/bin"))?;
    Ok(layer.finish()?)
}

/// Adds busybox, with a link for each of its programs.
pub(super) fn add_busybox(layer: &mut Tarball, busybox: &Path) -> Result<(), ArchiveError> {
    let folder = Path::new("/usr/bin");
    layer.program(&folder.join("busybox"), busybox)?;
    for program in command::run(std::process::Command::new(busybox).arg("--list"))?.lines() {
        layer.link(&folder.join(program), Path::new("busybox"))?;
    }
    layer.folder(Path::new("/run"))?;
    Ok(layer.folder(Path::new("/tmp"))?)
}
