//! What the annotations of each pod should say, by the journal. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_dataplane::attachment::{Pod, PodUid, Progress, Record};
use usnet_dataplane::legacy_annotation::LegacyInterfaceStatus;

/// What one pod should be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) pod: Pod,
    /// By interface.
    pub(super) elements: BTreeMap<String, LegacyInterfaceStatus>,
    /// The folder of the node that its directory comes from; none when that is its volume.
    pub(super) source: Option<PathBuf>,
}

impl Wanted {
    pub(super) fn interfaces(&self) -> BTreeSet<String> {
        self.elements.keys().cloned().collect()
    }

    /// What it should be told once its last interface is gone.
    pub(super) fn without_elements(&self) -> Self {
        Self { elements: BTreeMap::new(), ..self.clone() }
    }
}

/// What each pod with an attachment of that kind should be told.
pub(super) fn wanted(records: &[Record]) -> BTreeMap<PodUid, Wanted> {
    let mut all: BTreeMap<PodUid, Wanted> = BTreeMap::new();
    for record in records.iter().filter(|record| record.progress == Progress::Attached) {
        let Some(element) = &record.configuration_data else { continue };
        let of_pod = all.entry(record.pod.uid.clone()).or_insert_with(|| Wanted {
            pod: record.pod.clone(),
            elements: BTreeMap::new(),
            source: record.directory_source.clone(),
        });
        of_pod.elements.insert(element.interface().to_owned(), element.clone());
    }
    all
}
