//! The images of a release.

use std::fs;
use std::path::Path;

use super::{Release, ReleaseError, failed};
use crate::drivers::Drivers;
use crate::image::{self, Build, Image, archive};
use crate::openvswitch::{self, Openvswitch};
use crate::sbom::debian::{self, Distribution};
use crate::target::{Built, Target};

impl Release<'_> {
    /// Writes the archives of the images alone: of usnet, of the test program and of Open vSwitch.
    ///
    /// # Errors
    /// When a program is missing or a file cannot be written.
    pub fn write_images(&self) -> Result<(), ReleaseError> {
        self.create(self.output)?;
        self.write_image("usnet", self.image, "config/image/Containerfile")?;
        self.write_image("usnet-tools", &format!("{}-tools", self.image), "config/image/tools/Containerfile")?;
        // Last: the other images do not need Debian's packages.
        self.write_openvswitch()
    }

    fn write_image(&self, file: &str, name: &str, containerfile: &str) -> Result<(), ReleaseError> {
        let scratch = tempfile::tempdir().map_err(|source| failed(std::env::temp_dir(), source))?;
        let name = format!("{name}:{}", self.version);
        let mut images = Vec::new();
        for Built { target, path } in self.binaries {
            let build = Build {
                containerfile: &self.checkout.join(containerfile),
                context: path,
                architecture: target.architecture,
                arguments: &[("VERSION", self.version), ("REVISION", self.revision)],
                time: self.time,
            };
            let layer = scratch.path().join(format!("{}.tar", target.architecture));
            images.push(image::build(&name, build, &layer)?);
        }
        let path = self.output.join(format!("{file}-{}-oci.tar", self.version));
        Ok(archive::write(&path, &images, self.time)?)
    }

    /// Writes the image of Open vSwitch with its SBOM. It is for the architecture of this machine
    /// alone, whose packages it is made of.
    fn write_openvswitch(&self) -> Result<(), ReleaseError> {
        let scratch = tempfile::tempdir().map_err(|source| failed(std::env::temp_dir(), source))?;
        let mut found = Openvswitch::find(Drivers::All)?;
        let packages = found.add_licenses()?;
        let labels = openvswitch::labels(&packages, self.version, self.revision);
        let image = Image {
            name: format!("{}-openvswitch:{}", self.image, self.version),
            architecture: Target::node().architecture,
            settings: openvswitch::settings(labels),
            layer: found.write_layer(&scratch.path().join("layer"), self.time)?,
        };
        let file = format!("usnet-openvswitch-{}", self.version);
        archive::write(&self.output.join(format!("{file}-oci.tar")), &[image], self.time)?;
        let system = Path::new("/etc/os-release");
        let system = fs::read_to_string(system).map_err(|source| failed(system.to_owned(), source))?;
        let subject = ("usnet-openvswitch", self.version);
        let document = debian::document(subject, &packages, &Distribution::parse(&system), self.time)?;
        self.put(&format!("{file}.cdx.json"), format!("{document:#}\n").as_bytes())
    }
}
