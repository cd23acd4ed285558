//! What ports had before, on which a change of their rules depends. Pure.

use super::enforce::PortPolicy;
use super::rule_set::RuleSet;
use super::rules::compile;
use crate::model::attachment::AttachmentId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long answers to what rules no longer allow add no sessions: packets under way would
/// otherwise begin what the rules ended.
const UNDER_WAY: Duration = Duration::from_secs(2);

/// The rules of ports, by their attachments.
#[derive(Debug, Default)]
pub struct Memory {
    known: BTreeMap<AttachmentId, Known>,
}

#[derive(Debug)]
struct Known {
    rules: Arc<RuleSet>,
    earlier: Option<(Arc<RuleSet>, Instant)>,
}

impl Memory {
    /// Nothing is known of a VPP that was started.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    pub fn retain(&mut self, is_there: impl Fn(&AttachmentId) -> bool) {
        self.known.retain(|attachment, _| is_there(attachment));
    }

    /// What a port should have, given what it had.
    pub fn policy(&self, attachment: &AttachmentId, rules: &Arc<RuleSet>, now: Instant) -> PortPolicy {
        if !rules.is_restricted() {
            return PortPolicy::Open;
        }
        let Some(known) = self.known.get(attachment) else {
            return PortPolicy::Restricted { rules: compile(rules, None), ends_sessions: true };
        };
        let is_same = known.rules == *rules;
        let earlier = if is_same { known.earlier_at(now) } else { Some(&*known.rules) };
        let ends_sessions = !is_same && rules.outdates_sessions_of(&known.rules);
        PortPolicy::Restricted { rules: compile(rules, earlier), ends_sessions }
    }

    /// A port has these rules now.
    pub fn set(&mut self, attachment: &AttachmentId, rules: &Arc<RuleSet>, now: Instant) {
        let before = self.known.remove(attachment);
        let earlier = match before {
            Some(known) if known.rules == *rules => known.earlier.filter(|(_, until)| *until > now),
            Some(known) => Some((known.rules, now + UNDER_WAY)),
            None => None,
        };
        self.known.insert(attachment.clone(), Known { rules: Arc::clone(rules), earlier });
    }

    /// What a port has is not known any more.
    pub fn forget(&mut self, attachment: &AttachmentId) {
        self.known.remove(attachment);
    }

    /// When rules change although policies do not.
    #[must_use]
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let dates = self.known.values().filter_map(|known| known.earlier.as_ref().map(|(_, until)| *until));
        dates.filter(|until| *until > now).min()
    }
}

impl Known {
    fn earlier_at(&self, now: Instant) -> Option<&RuleSet> {
        self.earlier.as_ref().filter(|(_, until)| *until > now).map(|(rules, _)| &**rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::vpp::policy::rule_set::{Permit, Service};
    use crate::testing::attachment;

    fn rules(peers: &[&str]) -> Arc<RuleSet> {
        let permit = |text: &&str| Permit { peer: text.parse().unwrap(), service: Service::Any };
        Arc::new(RuleSet { ingress: Some(peers.iter().map(permit).collect()), egress: None })
    }

    #[test]
    fn answers_to_what_is_no_longer_allowed_add_no_sessions_for_a_while() {
        let (id, now) = (attachment("c1"), Instant::now());
        let mut memory = Memory::default();
        let [both, one] = [rules(&["10.0.0.1/32", "10.0.0.2/32"]), rules(&["10.0.0.1/32"])];
        let restricted = |rules, ends_sessions| PortPolicy::Restricted { rules, ends_sessions };
        assert_eq!(memory.policy(&id, &both, now), restricted(compile(&both, None), true), "nothing is known");
        memory.set(&id, &both, now);
        let meanwhile = restricted(compile(&one, Some(&both)), false);
        assert_eq!(memory.policy(&id, &one, now), meanwhile);
        assert_ne!(compile(&one, Some(&both)), compile(&one, None));
        memory.set(&id, &one, now);
        assert_eq!((memory.policy(&id, &one, now), memory.next(now)), (meanwhile, Some(now + UNDER_WAY)));
        let later = now + UNDER_WAY;
        assert_eq!(memory.policy(&id, &one, later), restricted(compile(&one, None), false));
        memory.set(&id, &one, later);
        assert_eq!(memory.next(later), None);
        assert_eq!(memory.policy(&id, &Arc::default(), later), PortPolicy::Open);
    }
}
