//! The desired annotations of each pod, from the journal. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_dataplane::attachment::{Pod, PodUid, Progress, Record};
use usnet_dataplane::legacy_annotation::LegacyInterfaceStatus;

/// The desired annotations of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DesiredAnnotations {
    pub(super) pod: Pod,
    /// By interface.
    pub(super) elements: BTreeMap<String, LegacyInterfaceStatus>,
    /// The folder of the node that is mounted as its directory; none when that is its volume.
    pub(super) source: Option<PathBuf>,
}

impl DesiredAnnotations {
    pub(super) fn interfaces(&self) -> BTreeSet<String> {
        self.elements.keys().cloned().collect()
    }

    /// The same pod after its last interface was detached.
    pub(super) fn without_elements(&self) -> Self {
        Self { elements: BTreeMap::new(), ..self.clone() }
    }
}

/// The desired annotations of each pod with an attachment of that kind.
pub(super) fn desired_annotations(records: &[Record]) -> BTreeMap<PodUid, DesiredAnnotations> {
    let mut all: BTreeMap<PodUid, DesiredAnnotations> = BTreeMap::new();
    for record in records.iter().filter(|record| record.progress == Progress::Attached) {
        let Some(element) = &record.configuration_data else { continue };
        let of_pod = all.entry(record.pod.uid.clone()).or_insert_with(|| DesiredAnnotations {
            pod: record.pod.clone(),
            elements: BTreeMap::new(),
            source: record.directory_source.clone(),
        });
        of_pod.elements.insert(element.interface().to_owned(), element.clone());
    }
    all
}
