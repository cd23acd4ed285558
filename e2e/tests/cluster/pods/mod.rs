//! Ways in which pods get interfaces: annotation, device plugin, IPAM, with and without Multus.

mod annotation;
mod at_once;
mod attachments;
mod churn;
mod cni_versions;
mod device_plugin;
mod garbage;
mod hot_plug;
mod reservations;
mod stateful_ranges;
mod stateful_set;
mod whereabouts;
mod without_multus;
