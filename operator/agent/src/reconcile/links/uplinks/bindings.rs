//! Takes NICs from their drivers in Linux for an engine that drives them itself, and gives them
//! back (IO).
//!
//! To take a device from the driver of programs blocks in the kernel until the program that has it
//! lets it go, whatever the reason. So each change has a thread of its own, and the agent goes on
//! when it takes too long.

use crate::reconcile::links::kernel::{on_thread, with_kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::time::timeout;
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, PciAddress};
use usnet_dataplane::bound_nics::{BoundNic, BoundNics};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::links::nics::{Nics, ObservedNics};
use usnet_dataplane::links::pci::{ObservedPci, PciError, Sysfs, VFIO_DRIVER};
use usnet_dataplane::paths::NodePaths;

/// How long a change may take before the agent goes on without it: drivers take some hundred
/// milliseconds, and a reconcile of everything else waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often, and after which time, the device of a NIC is looked for that its driver has again.
const DEVICE_TRIES: u32 = 20;
const DEVICE_INTERVAL: Duration = Duration::from_millis(50);

/// The NICs that this agent, or an earlier one of the node, has taken for one engine.
#[derive(Debug)]
pub(super) struct Bindings {
    engine: EngineKind,
    paths: NodePaths,
    taken: BoundNics,
    /// Why NICs could not be taken at the last attempt.
    failures: BTreeMap<PciAddress, String>,
    /// Why NICs could not be given back at the last attempt.
    left: BTreeMap<PciAddress, String>,
    /// The devices whose driver is being changed.
    busy: Arc<Mutex<BTreeSet<PciAddress>>>,
}

impl Bindings {
    pub(super) fn load(engine: EngineKind, paths: &NodePaths) -> Self {
        let taken = BoundNics::read(paths, engine).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read which NICs were taken from their drivers: they are not given back");
            BoundNics::default()
        });
        Self {
            engine,
            paths: paths.clone(),
            taken,
            failures: BTreeMap::new(),
            left: BTreeMap::new(),
            busy: Arc::default(),
        }
    }

    /// The NICs that were taken.
    pub(super) fn taken(&self) -> &[BoundNic] {
        &self.taken.nics
    }

    /// Why a NIC could not be taken at the last attempt.
    pub(super) fn failure(&self, nic: PciAddress) -> Option<&str> {
        self.failures.get(&nic).map(String::as_str)
    }

    /// Whether a NIC could not be given back at the last attempt.
    pub(super) fn are_unfinished(&self) -> bool {
        !self.left.is_empty()
    }

    /// Takes NICs. Failures are kept, for the reports of their uplinks.
    pub(super) async fn take(&mut self, nics: Vec<BoundNic>) {
        self.failures.clear();
        for nic in nics {
            let (address, uplink) = (nic.address, nic.uplink.clone());
            self.taken.add(nic);
            let result = match self.taken.write(&self.paths, self.engine) {
                Ok(()) => self.bind(address, Some(VFIO_DRIVER.to_owned())).await,
                Err(error) => Err(ErrorChain(&error).to_string()),
            };
            match result {
                Ok(()) => tracing::info!(%uplink, nic = %address, "took the NIC of an uplink from its driver"),
                Err(problem) => drop(self.failures.insert(address, problem)),
            }
        }
    }

    /// Gives back the NICs that are not `used` any more: to the drivers that they had, with their
    /// names.
    pub(super) async fn give_back(
        &mut self,
        network_namespace: Option<PathBuf>,
        used: &BTreeSet<PciAddress>,
    ) -> Result<(), LinkError> {
        self.left.retain(|address, _| !used.contains(address));
        let unused: Vec<BoundNic> =
            self.taken.nics.iter().filter(|nic| !used.contains(&nic.address)).cloned().collect();
        for nic in unused {
            let address = nic.address;
            if let Err(problem) = self.unbind(&nic).await {
                if self.left.get(&address) != Some(&problem) {
                    tracing::warn!(nic = %address, problem, "cannot give the NIC of an uplink back to its driver; retrying");
                }
                self.left.insert(address, problem);
                continue;
            }
            self.left.remove(&address);
            let sysfs = Sysfs::new(&self.paths.sysfs);
            let restored = nic.clone();
            with_kernel(network_namespace.clone(), move |kernel| restore(kernel, &sysfs, &restored)).await?;
            tracing::info!(nic = %address, driver = nic.driver, device = nic.device, "gave the NIC of an uplink back to its driver");
            self.taken.nics.retain(|taken| taken.address != address);
            if let Err(error) = self.taken.write(&self.paths, self.engine) {
                tracing::warn!(error = %ErrorChain(&error), "cannot write which NICs were taken from their drivers");
            }
        }
        Ok(())
    }

    /// Gives a device to the driver that Linux chooses, unless it has the one that was found: that
    /// it was taken may have failed, or been interrupted.
    async fn unbind(&self, nic: &BoundNic) -> Result<(), String> {
        let pci = observe_pci(Some(self.paths.sysfs.clone())).await.map_err(|error| ErrorChain(&error).to_string())?;
        let present = pci.nics.get(&nic.address).map(|found| &found.driver);
        if present.is_none_or(|present| *present == nic.driver) { Ok(()) } else { self.bind(nic.address, None).await }
    }

    /// Changes the driver of a device; none leaves the choice to the kernel.
    async fn bind(&self, address: PciAddress, driver: Option<String>) -> Result<(), String> {
        let busy = Arc::clone(&self.busy);
        if !busy.lock().unwrap_or_else(PoisonError::into_inner).insert(address) {
            return Err("the program that has it has not let it go yet".to_owned());
        }
        let sysfs = Sysfs::new(&self.paths.sysfs);
        let change = on_thread(move || {
            let result = sysfs.bind(address, driver.as_deref());
            busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
            result
        });
        match timeout(PATIENCE, change).await {
            Err(_elapsed) => Err("the program that has it does not let it go".to_owned()),
            Ok(Err(error)) => Err(ErrorChain(&error).to_string()),
            Ok(Ok(result)) => result.map_err(|error: PciError| ErrorChain(&error).to_string()),
        }
    }
}

/// Gives a device of the kernel its name back: without one that it had, the kernel chooses another.
fn restore(kernel: &mut impl Nics, sysfs: &Sysfs, nic: &BoundNic) -> Result<(), LinkError> {
    if nic.device.is_none() {
        return Ok(());
    }
    let device = || sysfs.observe().ok()?.nics.get(&nic.address)?.device.clone();
    // Some drivers create it a moment later.
    let mut present = device();
    for _ in 0..DEVICE_TRIES {
        if present.is_some() {
            break;
        }
        thread::sleep(DEVICE_INTERVAL);
        present = device();
    }
    let observed = kernel.observe_nics()?;
    let Some((index, name)) = present.and_then(|device| named(&observed, &device)) else { return Ok(()) };
    if let Some(device) = nic.device.as_ref().filter(|device| **device != name && observed.named(device).is_none()) {
        kernel.rename_nic(index, device)?;
    }
    if nic.was_up { kernel.set_nic_up(index) } else { Ok(()) }
}

fn named(observed: &ObservedNics, device: &impl ToString) -> Option<(u32, String)> {
    let name = device.to_string();
    observed.named(&name).map(|(index, _)| (index, name))
}

/// Reads the PCI bus, if `sysfs` says where it is.
pub(super) async fn observe_pci(sysfs: Option<PathBuf>) -> Result<ObservedPci, LinkError> {
    let Some(sysfs) = sysfs else { return Ok(ObservedPci::default()) };
    on_thread(move || Sysfs::new(sysfs).observe()).await?.map_err(LinkError::Pci)
}
