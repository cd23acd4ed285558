//! Computes the desired annotations of each pod from the journal. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_dataplane::attachment::{Pod, PodUid, Progress, Record};
use usnet_dataplane::legacy_annotation::LegacyInterfaceStatus;

/// The desired annotations of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DesiredAnnotations {
    pub(super) pod: Pod,
    /// The elements of the annotation, by interface.
    pub(super) elements: BTreeMap<String, LegacyInterfaceStatus>,
    /// The folder of the node that is mounted as the pod's directory; none if that is a volume of
    /// the pod.
    pub(super) source: Option<PathBuf>,
}

impl DesiredAnnotations {
    pub(super) fn interfaces(&self) -> BTreeSet<String> {
        self.elements.keys().cloned().collect()
    }

    /// The desired annotations after the last interface was detached.
    pub(super) fn without_elements(&self) -> Self {
        Self { elements: BTreeMap::new(), ..self.clone() }
    }
}

/// Returns the desired annotations of each pod that was attached by a NAD of the Userspace CNI
/// (Intel).
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
