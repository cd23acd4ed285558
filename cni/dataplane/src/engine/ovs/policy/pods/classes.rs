//! The classes of peers: addresses that no rule of a port of the bridge tells apart.

use crate::engine::ovs::policy::assigned::Assigned;
use crate::engine::ovs::policy::differing::differences;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::names::fnv1a;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::{PodAddresses, PodClass, SelectorId};

/// The peers of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::ovs::policy) struct Peers {
    /// What they follow from, besides the selectors of rules.
    of: Arc<PodAddresses>,
    /// Those of both directions, in their order.
    pub(in crate::engine::ovs::policy) classes: [PeerClasses; 2],
}

/// The classes of peers of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::ovs::policy) struct PeerClasses {
    pub(in crate::engine::ovs::policy) direction: Direction,
    pub(super) addresses: Arc<BTreeMap<IpAddr, u32>>,
    /// The classes, by the selectors that select their pods.
    classes: BTreeMap<BTreeSet<SelectorId>, Class>,
    /// The classes that each selector selects.
    pub(in crate::engine::ovs::policy) numbers: Arc<SelectedClasses>,
}

/// The numbers of the classes that each selector selects.
pub(in crate::engine::ovs::policy) type SelectedClasses = BTreeMap<SelectorId, BTreeSet<u32>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    number: u32,
    /// How many addresses are of this class.
    addresses: usize,
}

impl Peers {
    /// The peers of these rules, given those of the same rules before: thousands of addresses of
    /// which one differs are not classified again.
    pub(in crate::engine::ovs::policy) fn of(
        addresses: &Arc<PodAddresses>,
        assigned: &Assigned,
        before: Option<&Self>,
    ) -> Self {
        let changed = before.map(|before| ChangedAddresses::between(&before.of, addresses));
        let classes = Direction::ALL.map(|direction| {
            let used = assigned.peers(direction);
            let before = before.into_iter().flat_map(|before| &before.classes);
            let before = before.zip(&changed).find(|(before, _)| before.direction == direction);
            let after = before.and_then(|(before, changed)| before.after(used, changed));
            after.unwrap_or_else(|| PeerClasses::of(addresses, used, direction))
        });
        Self { of: Arc::clone(addresses), classes }
    }

    /// How many addresses they have, in both directions together.
    pub(in crate::engine::ovs::policy) fn addresses(&self) -> usize {
        self.classes.iter().map(|classes| classes.addresses.len()).sum()
    }
}

/// What two states of addresses do not have in common.
struct ChangedAddresses<'a> {
    gone: Vec<(IpAddr, &'a PodClass)>,
    new: Vec<(IpAddr, &'a PodClass)>,
}

impl<'a> ChangedAddresses<'a> {
    fn between(before: &'a Arc<PodAddresses>, now: &'a Arc<PodAddresses>) -> Self {
        if Arc::ptr_eq(before, now) {
            return Self { gone: Vec::new(), new: Vec::new() };
        }
        let of = |entries: Vec<(&IpAddr, &'a Arc<PodClass>)>| {
            entries.into_iter().map(|(address, class)| (*address, class.as_ref())).collect()
        };
        let [gone, new] = differences(&before.0, &now.0).map(of);
        Self { gone, new }
    }
}

impl PeerClasses {
    /// The classes of addresses that any of the selectors `used` selects. Pods of one class share
    /// it, so that it is looked at once.
    fn of(PodAddresses(all): &PodAddresses, used: &BTreeSet<SelectorId>, direction: Direction) -> Self {
        if used.is_empty() {
            return Self { direction, addresses: Arc::default(), classes: BTreeMap::new(), numbers: Arc::default() };
        }
        let mut known: BTreeMap<*const PodClass, BTreeSet<SelectorId>> = BTreeMap::new();
        let mut members: BTreeMap<&BTreeSet<SelectorId>, Vec<IpAddr>> = BTreeMap::new();
        for class in all.values() {
            known.entry(Arc::as_ptr(class)).or_insert_with(|| selected_by(class, used));
        }
        for (address, class) in all {
            let selectors = known.get(&Arc::as_ptr(class)).filter(|selectors| !selectors.is_empty());
            if let Some(selectors) = selectors {
                members.entry(selectors).or_default().push(*address);
            }
        }
        let (mut numbers, mut of_selectors) = (BTreeSet::from([0]), SelectedClasses::new());
        let (mut addresses, mut classes) = (BTreeMap::new(), BTreeMap::new());
        for (selectors, of_class) in members {
            let number = number(selectors, &mut numbers);
            for selector in selectors {
                of_selectors.entry(*selector).or_default().insert(number);
            }
            classes.insert(selectors.clone(), Class { number, addresses: of_class.len() });
            addresses.extend(of_class.into_iter().map(|address| (address, number)));
        }
        Self { direction, addresses: Arc::new(addresses), classes, numbers: Arc::new(of_selectors) }
    }

    /// The classes after a change of addresses. `None` if other classes are there than before:
    /// their numbers depend on each other.
    fn after(&self, used: &BTreeSet<SelectorId>, changed: &ChangedAddresses<'_>) -> Option<Self> {
        let (mut addresses, mut classes) = (Arc::clone(&self.addresses), self.classes.clone());
        for (address, class) in &changed.gone {
            if addresses.contains_key(address) {
                Arc::make_mut(&mut addresses).remove(address);
                classes.get_mut(&selected_by(class, used))?.addresses -= 1;
            }
        }
        for (address, class) in &changed.new {
            let selectors = selected_by(class, used);
            if !selectors.is_empty() {
                let class = classes.get_mut(&selectors)?;
                class.addresses += 1;
                Arc::make_mut(&mut addresses).insert(*address, class.number);
            }
        }
        let is_same = classes.values().all(|class| class.addresses > 0);
        is_same.then(|| Self { direction: self.direction, addresses, classes, numbers: Arc::clone(&self.numbers) })
    }
}

/// Those of the selectors `used` that select pods of a class.
fn selected_by(class: &PodClass, used: &BTreeSet<SelectorId>) -> BTreeSet<SelectorId> {
    class.selected_by.intersection(used).copied().collect()
}

/// The number of a class follows from its selectors, so that another class changes none, unless
/// the numbers are the same.
fn number(selected_by: &BTreeSet<SelectorId>, numbers: &mut BTreeSet<u32>) -> u32 {
    let text: String = selected_by.iter().map(SelectorId::to_string).collect();
    let [_, _, _, _, low @ ..] = fnv1a(text.as_bytes()).to_be_bytes();
    let mut number = u32::from_be_bytes(low);
    while !numbers.insert(number) {
        number = number.wrapping_add(1);
    }
    number
}
