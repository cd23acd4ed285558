//! All `UserspaceUplink`s. There are few, and each node selects its NIC by its labels, so that no
//! object grows with uplinks × nodes.

use super::collect::Collector;
use super::list_watch::{Event, Object};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::uplink::validate::validate;
use usnet_crds::{UplinkName, UserspaceUplink, UserspaceUplinkSpec, ValidUplink};

type Known = BTreeMap<UplinkName, Arc<ValidUplink>>;

/// Follows the uplinks, and keeps the last readable version of each.
pub(super) struct Uplinks<'a> {
    collector: &'a RefCell<Collector>,
    known: Known,
    /// A list that is not complete yet.
    list: Known,
}

impl<'a> Uplinks<'a> {
    pub(super) fn new(collector: &'a RefCell<Collector>) -> Self {
        Self { collector, known: Known::new(), list: Known::new() }
    }

    pub(super) fn on_event(&mut self, event: Event<UserspaceUplink>) {
        match event {
            Event::Page { objects, is_first, complete } => {
                if is_first {
                    self.list.clear();
                }
                let read: Known = objects.iter().filter_map(|object| self.parse(object)).collect();
                self.list.extend(read);
                if complete.is_none() {
                    return;
                }
                self.known = std::mem::take(&mut self.list);
            }
            Event::Applied(object) => self.known.extend(self.parse(&object)),
            Event::Deleted(object) => self.known.retain(|name, _| name.as_str() != object.name()),
            Event::Opened => return,
        }
        self.collector.borrow_mut().uplinks(self.known.clone());
    }

    /// Returns the uplink. If it is not valid, its last valid version; none if there never was one.
    fn parse(&self, object: &Object<UserspaceUplink>) -> Option<(UplinkName, Arc<ValidUplink>)> {
        let spec = object.spec::<UserspaceUplinkSpec>().map_err(|error| error.to_string());
        let valid = spec.and_then(|spec| {
            let uplink = UserspaceUplink { metadata: object.metadata.clone(), spec, status: None };
            validate(&uplink).map_err(|invalid| invalid.to_string())
        });
        match valid {
            Ok(valid) => Some((valid.name.clone(), Arc::new(valid))),
            Err(error) => {
                tracing::warn!(
                    uplink = object.name(),
                    error,
                    "cannot read a UserspaceUplink; continuing with its last readable version"
                );
                let name = object.name().parse().ok()?;
                let known = Arc::clone(self.known.get(&name)?);
                Some((name, known))
            }
        }
    }
}
