//! Chooses which calls of the plugin begin. Each namespace has a share of them, so that attachments
//! of one namespace that fail, each after seconds, do not keep those of another waiting. Pure.

use super::attachment::{Attachment, CallKind};
use std::collections::{BTreeMap, BTreeSet};
use usnet_common::shares::Shares;

/// Most ADDs in flight. The service takes twice as many calls; the rest is for resource claims and
/// DELs.
pub(super) const ATTACHING_MAX: usize = 8;
/// Most DELs in flight. They have slots of their own: an ADD that fails takes seconds, and neither
/// kind must keep the other waiting.
pub(super) const DETACHING_MAX: usize = 4;
/// Most ADDs in flight that failed before, for one namespace. The rest of its share is for new
/// ones.
const RETRYING_MAX: usize = 2;
/// With so many failed attachments in a namespace, its new ones are likely to fail as well.
const FAILING: usize = ATTACHING_MAX;
/// Most new ADDs in flight for such a namespace: each is a process, and others need processors.
const SUSPECT_MAX: usize = 2;

/// Chooses from the calls that are `due`, which are in the order in which they became due.
pub(super) fn choose(attachments: &BTreeMap<String, Attachment>, due: &[(&str, CallKind)]) -> BTreeSet<String> {
    let (mut attaching, mut detaching) = (Shares::halves(ATTACHING_MAX), Shares::quarters(DETACHING_MAX));
    let (mut retrying, mut beginning, mut failed) = (Counts::new(), Counts::new(), Counts::new());
    for attachment in attachments.values() {
        let namespace = attachment.namespace.as_str();
        let has_failed = attachment.failure.is_some();
        *failed.entry(namespace).or_default() += usize::from(has_failed);
        match attachment.in_flight {
            Some(CallKind::Attach) => {
                attaching.take(namespace);
                let of_kind = if has_failed { &mut retrying } else { &mut beginning };
                *of_kind.entry(namespace).or_default() += 1;
            }
            Some(CallKind::Detach) => detaching.take(namespace),
            None => {}
        }
    }
    let of_kind = |kind| {
        due.iter().filter(move |(_, own)| *own == kind).filter_map(|(uid, _)| Some((*uid, attachments.get(*uid)?)))
    };
    let (new, again): (Vec<_>, Vec<_>) =
        of_kind(CallKind::Attach).partition(|(_, attachment)| attachment.failure.is_none());
    let is_failing = |namespace: &str| failed.get(namespace).is_some_and(|count| *count >= FAILING);
    let new = new.into_iter().filter(|(_, Attachment { namespace, .. })| {
        !is_failing(namespace) || another(&mut beginning, namespace) <= SUSPECT_MAX
    });
    let again =
        again.into_iter().filter(|(_, attachment)| another(&mut retrying, &attachment.namespace) <= RETRYING_MAX);
    let mut chosen = attaching.share_out(new.map(in_namespace));
    chosen.extend(attaching.share_out(again.map(in_namespace)));
    chosen.extend(detaching.share_out(of_kind(CallKind::Detach).map(in_namespace)));
    chosen.into_iter().map(str::to_owned).collect()
}

/// Numbers of attachments by namespace.
type Counts<'a> = BTreeMap<&'a str, usize>;

/// Increments the count of a namespace and returns it.
fn another<'a>(counts: &mut Counts<'a>, namespace: &'a str) -> usize {
    let count = counts.entry(namespace).or_default();
    *count += 1;
    *count
}

fn in_namespace<'a>((uid, attachment): (&'a str, &'a Attachment)) -> (&'a str, &'a str) {
    (&attachment.namespace, uid)
}

#[cfg(test)]
mod tests {
    use super::super::report::Failure;
    use super::*;
    use std::time::Instant;
    use usnet_dataplane::attachment::Pod;

    /// Attachments of a namespace, which have all failed before if `is_again`.
    fn attachments(namespace: &str, count: usize, is_again: bool) -> BTreeMap<String, Attachment> {
        let of = |number| {
            let pod = Pod { namespace: namespace.to_owned(), name: "web".to_owned(), uid: "web-uid".parse().unwrap() };
            let uid = format!("{namespace}{number:03}");
            let mut attachment = Attachment::new(&pod, uid.clone(), Instant::now());
            attachment.failure = is_again.then(|| Failure::new("AttachFailed", ""));
            (uid, attachment)
        };
        (0..count).map(of).collect()
    }

    /// How many calls of each namespace begin if all are due.
    fn begun(attachments: &mut BTreeMap<String, Attachment>, kind: CallKind) -> BTreeMap<String, usize> {
        let waiting: Vec<String> =
            attachments.iter().filter(|(_, it)| it.in_flight.is_none()).map(|(uid, _)| uid.clone()).collect();
        let due: Vec<_> = waiting.iter().map(|uid| (uid.as_str(), kind)).collect();
        let mut count = BTreeMap::new();
        for uid in choose(attachments, &due) {
            let attachment = attachments.get_mut(&uid).unwrap();
            attachment.in_flight = Some(kind);
            *count.entry(attachment.namespace.clone()).or_default() += 1;
        }
        count
    }

    fn counts<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
        counts.map(|(namespace, count)| (namespace.to_owned(), count)).into()
    }

    #[test]
    fn a_namespace_finds_a_slot_beside_very_many_of_another() {
        let mut all = attachments("a", 512, false);
        assert_eq!(begun(&mut all, CallKind::Attach), counts([("a", 4)]));
        assert_eq!(begun(&mut all, CallKind::Attach), counts([]));
        all.extend(attachments("b", 3, false));
        assert_eq!(begun(&mut all, CallKind::Attach), counts([("b", 2)]));
        all.extend(attachments("c", 3, false));
        assert_eq!(begun(&mut all, CallKind::Attach), counts([("c", 1)]));
        all.extend(attachments("d", 3, false));
        assert_eq!(begun(&mut all, CallKind::Attach), counts([("d", 1)]));
    }

    #[test]
    fn what_is_new_does_not_wait_for_what_has_failed() {
        let mut all = attachments("a", 512, true);
        assert_eq!(begun(&mut all, CallKind::Attach), counts([("a", RETRYING_MAX)]));
        all.extend(attachments("a", 600, false).split_off("a512"));
        assert_eq!(begun(&mut all, CallKind::Attach), counts([("a", 2)]));
        assert!(all["a512"].in_flight.is_some() && all["a513"].in_flight.is_some());
    }

    #[test]
    fn a_namespace_whose_attachments_fail_begins_few_at_once() {
        let mut all = attachments("a", 512, false);
        all.values_mut().take(FAILING).for_each(|it| it.failure = Some(Failure::new("AttachFailed", "")));
        let due: Vec<String> = all.iter().filter(|(_, it)| it.failure.is_none()).map(|(uid, _)| uid.clone()).collect();
        let due: Vec<_> = due.iter().map(|uid| (uid.as_str(), CallKind::Attach)).collect();
        assert_eq!(choose(&all, &due).len(), SUSPECT_MAX);
        all.retain(|uid, it| it.failure.is_none() || uid.as_str() > "a000");
        assert_eq!(choose(&all, &due).len(), ATTACHING_MAX / 2, "one less has failed");
    }

    #[test]
    fn detachments_have_slots_of_their_own() {
        let mut all = attachments("a", 512, false);
        begun(&mut all, CallKind::Attach);
        assert_eq!(begun(&mut all, CallKind::Detach), counts([("a", 3)]));
        all.extend(attachments("b", 2, false));
        assert_eq!(begun(&mut all, CallKind::Detach), counts([("b", 1)]));
    }
}
