//! What changed in the cluster from one pass to the next.

use super::super::super::cache::dirty::Dirty;
use super::super::super::cache::nads::NadKey;
use super::Cluster;
use std::collections::{BTreeMap, BTreeSet};
use usnet_common::api::reflector::Changed;

impl Cluster {
    /// What changed since the last pass, as the caches of the controller say it.
    pub(super) fn changes(&mut self) -> Dirty {
        let Some(seen) = self.seen.take() else { return Dirty::everything(&self.cache) };
        let (cache, mut dirty) = (&mut self.cache, Dirty::default());
        for (name, before) in changed(&seen.states, &cache.states) {
            let number = cache.states.get(&name).and_then(|state| state.number);
            dirty.nodes.extend(cache.node_numbers.update(
                &name,
                before.as_ref().and_then(|state| state.number),
                number,
            ));
        }
        let cache = &self.cache;
        changed(&seen.networks, &cache.networks).into_iter().for_each(|changed| dirty.network(cache, changed));
        changed(&seen.compiled, &cache.compiled).into_iter().for_each(|changed| dirty.compiled(cache, changed));
        changed(&seen.namespaces, &cache.namespaces).into_iter().for_each(|changed| dirty.namespace(cache, changed));
        changed(&seen.nodes, &cache.nodes).into_iter().for_each(|changed| dirty.node(cache, changed));
        changed(&seen.states, &cache.states).into_iter().for_each(|changed| dirty.node_state(cache, changed));
        changed(&seen.slices, &cache.slices).into_iter().for_each(|changed| dirty.slice(changed));
        changed(&seen.uplinks, &cache.uplinks).into_iter().for_each(|changed| dirty.uplink(cache, changed));
        let attachments = changed(&seen.attachments.objects, &cache.attachments.objects);
        attachments.into_iter().for_each(|changed| dirty.attachment(cache, changed));
        let reservations = changed(&seen.reservations.objects, &cache.reservations.objects);
        reservations.into_iter().for_each(|changed| dirty.reservation(cache, changed));
        for (pod, _) in changed(&seen.attachments.pods, &cache.attachments.pods) {
            dirty.pod(cache, &pod);
        }
        let (old, new) = (seen.nads.all(), cache.nads.all());
        let keys: Vec<NadKey> = changed(&old, &new).into_iter().map(|(key, _)| key).collect();
        let user_nads_changed = seen.nads.user_nads() != cache.nads.user_nads();
        dirty.nad(keys, user_nads_changed);
        if seen.nads.availability != cache.nads.availability {
            return Dirty::everything(cache);
        }
        dirty
    }
}

/// What changed from one pass to the next.
fn changed<K: Ord + Clone, T: PartialEq + Clone>(seen: &BTreeMap<K, T>, now: &BTreeMap<K, T>) -> Vec<Changed<K, T>> {
    let keys: BTreeSet<&K> = seen.keys().chain(now.keys()).filter(|key| seen.get(*key) != now.get(*key)).collect();
    keys.into_iter().map(|key| (key.clone(), seen.get(key).cloned())).collect()
}
