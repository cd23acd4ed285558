//! An image of the VPP of this machine, for engines that usnet runs. Test beds do not import it by
//! default.

use std::fs;
use std::path::{Path, PathBuf};

use usnet_release::image::{Image, Settings};
use usnet_release::libraries;
use usnet_release::tarball::Tarball;
use usnet_release::target::Target;
use usnet_test_vpp::plugin_folder;

use crate::kubernetes::images::archives::{cached, digest_of};
use crate::kubernetes::images::error::ArchiveError;
use crate::kubernetes::images::names::VPP_IMAGE;

/// Builds the archive of the image from a program with its plugins, or finds it in the cache.
pub fn archive(cache: &Path, program: &Path) -> Result<PathBuf, ArchiveError> {
    let mut programs = vec![program.to_owned()];
    if let Some(folder) = plugin_folder(program) {
        let entries = fs::read_dir(&folder).map_err(|source| ArchiveError::file(&folder, source))?;
        programs.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
    }
    programs.sort();
    let files = libraries::needed_by(&programs)?;
    let digest = digest_of(&files.iter().cloned().collect::<Vec<_>>())?;
    let path = program.parent().unwrap_or(Path::new("/usr/bin")).display().to_string();
    cached(cache, ("vpp", &digest), |folder| {
        let mut layer = Tarball::create(&folder.join("layer"), 0)?;
        libraries::add(&mut layer, &files)?;
        libraries::add_merged_folders(&mut layer)?;
        Ok(Image {
            name: VPP_IMAGE.to_owned(),
            architecture: Target::node().architecture,
            settings: Settings { environment: vec![format!("PATH={path}")], ..Settings::default() },
            layer: layer.finish()?,
        })
    })
}
