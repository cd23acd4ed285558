//! The archives of the images of a test bed, made from what is on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::host::command::{self, CommandError};
use crate::host::requirements;
use crate::kubernetes::containerd;
use crate::kubernetes::images::archive::{self, ArchiveError, Image, Layer};
use crate::kubernetes::images::libraries;
use crate::kubernetes::images::names::{BUSYBOX_IMAGE, PAUSE_IMAGE, TESTPMD_IMAGE, USNET_IMAGE};
use crate::nodes::node::Node;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::Settings;

/// DPDK's drivers that a pod uses.
const DRIVERS: [&str; 4] = ["bus_vdev", "mempool_ring", "net_memif", "net_virtio"];

/// Changes whenever the way in which images are made does, so that archives of an older way are not
/// used again.
const RECIPE: u32 = 2;

/// The machine's programs that become images.
struct Sources {
    busybox: PathBuf,
    /// dpdk-testpmd and the drivers that it loads.
    testpmd: Vec<PathBuf>,
}

/// Makes the archive of the images that do not change with usnet, or finds it in the cache.
///
/// # Errors
/// When a program is missing or a file cannot be written.
pub fn base_archive(folder: &TestbedFolder, settings: &Settings) -> Result<PathBuf, ArchiveError> {
    let sources = sources()?;
    let needed = libraries::needed_by(&sources.testpmd)?;
    let mut hashed: Vec<PathBuf> = needed.iter().cloned().collect();
    hashed.push(sources.busybox.clone());
    let cache = settings.cache.join("images");
    fs::create_dir_all(&cache).map_err(|source| ArchiveError::File { path: cache.clone(), source })?;
    let archive = cache.join(format!("base-{RECIPE}-{}.tar", archive::digest(&hashed)?));
    if archive.exists() {
        return Ok(archive);
    }
    let busybox = busybox_layer(&folder.temporary(), &sources.busybox)?;
    let mut layer = Layer::create(&folder.temporary().join("testpmd.layer"))?;
    libraries::add(&mut layer, &needed)?;
    add_busybox(&mut layer, &sources.busybox)?;
    add_merged_folders(&mut layer)?;
    let testpmd = layer.finish()?;
    let pause = ["/usr/bin/busybox", "sleep", "2147483647"];
    let images = [
        Image { name: PAUSE_IMAGE, entrypoint: &pause, layer: busybox.clone() },
        Image { name: BUSYBOX_IMAGE, entrypoint: &[], layer: busybox },
        Image { name: TESTPMD_IMAGE, entrypoint: &["/usr/bin/dpdk-testpmd"], layer: testpmd },
    ];
    archive::write(&archive, &images)?;
    Ok(archive)
}

/// Makes the archive of usnet's image in the test bed's folder, from the static binaries `usnet`
/// and `userspace` in `binaries`.
///
/// # Errors
/// When a binary is missing or a file cannot be written.
pub fn usnet_archive(folder: &TestbedFolder, binaries: &Path) -> Result<PathBuf, ArchiveError> {
    let mut layer = Layer::create(&folder.temporary().join("usnet.layer"))?;
    for program in ["usnet", "userspace"] {
        layer.file(&Path::new("/usr/local/bin").join(program), &binaries.join(program))?;
    }
    let image = Image { name: USNET_IMAGE, entrypoint: &["/usr/local/bin/usnet"], layer: layer.finish()? };
    let archive = folder.temporary().join("usnet.tar");
    archive::write(&archive, &[image])?;
    Ok(archive)
}

/// Loads an archive's images into a node's containerd.
///
/// # Errors
/// When `ctr` fails.
pub fn import(node: &Node, archive: &Path) -> Result<(), CommandError> {
    // With --local, ctr unpacks by itself: containerd's own transfer service knows no native
    // snapshots.
    let mut command = node.command("ctr");
    command.args(["--namespace=k8s.io", "images", "import", "--local", "--snapshotter", containerd::SNAPSHOTTER]);
    command::run(command.arg(archive)).map(drop)
}

fn sources() -> Result<Sources, ArchiveError> {
    let find = |name: &str| {
        let missing = || ArchiveError::File { path: PathBuf::from(name), source: std::io::ErrorKind::NotFound.into() };
        requirements::find_program(name).ok_or_else(missing)
    };
    let mut testpmd = drivers()?;
    testpmd.push(find("dpdk-testpmd")?);
    Ok(Sources { busybox: find("busybox")?, testpmd })
}

/// The drivers in DPDK's folder, which carries the version of its ABI, such as
/// `/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0`.
fn drivers() -> Result<Vec<PathBuf>, ArchiveError> {
    let library = PathBuf::from(format!("/usr/lib/{}-linux-gnu/dpdk", std::env::consts::ARCH));
    let failed = |source| ArchiveError::File { path: library.clone(), source };
    let folders = fs::read_dir(&library).map_err(failed)?;
    let folder = folders
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pmds-")))
        .ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    Ok(DRIVERS.iter().map(|driver| folder.join(format!("librte_{driver}.so"))).collect())
}

fn busybox_layer(folder: &Path, busybox: &Path) -> Result<PathBuf, ArchiveError> {
    let mut layer = Layer::create(&folder.join("busybox.layer"))?;
    add_busybox(&mut layer, busybox)?;
    layer.link(Path::new("/bin"), Path::new("usr/bin"))?;
    layer.finish()
}

/// Adds busybox with a link for each of its programs.
fn add_busybox(layer: &mut Layer, busybox: &Path) -> Result<(), ArchiveError> {
    let folder = Path::new("/usr/bin");
    layer.file(&folder.join("busybox"), busybox)?;
    for program in command::run(std::process::Command::new(busybox).arg("--list"))?.lines() {
        layer.link(&folder.join(program), Path::new("busybox"))?;
    }
    layer.folder(Path::new("/run"))?;
    layer.folder(Path::new("/tmp"))
}

/// `/bin`, `/lib` and `/lib64` as this machine has them: links to the folders under `/usr` on a
/// Debian of today.
fn add_merged_folders(layer: &mut Layer) -> Result<(), ArchiveError> {
    for folder in ["/bin", "/lib", "/lib64"].map(Path::new) {
        if let Ok(destination) = fs::read_link(folder) {
            layer.link(folder, &destination)?;
        }
    }
    Ok(())
}
