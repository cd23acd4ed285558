//! Changes of flows.

use super::{ALL_TABLES, ANY, oxm_match};
use crate::flow::{Action, CookieFilter, Flow, GroupId, Match, Oxm, Step};

const ADD: u8 = 0;
const DELETE: u8 = 3;
const DELETE_STRICT: u8 = 4;
const NO_BUFFER: u32 = 0xffff_ffff;

/// A change of flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowMod {
    /// Adds a flow, or replaces the one that has the same match and priority.
    Add(Flow),
    /// Deletes the flows of all tables whose frames all have this match, also those of other
    /// clients.
    Delete(Match),
    /// Deletes the flows of all tables with these cookies.
    DeleteCookies(CookieFilter),
    /// Deletes the flow with exactly this match.
    DeleteStrict { table: u8, priority: u16, matches: Oxm },
}

impl FlowMod {
    /// Deletes a flow.
    #[must_use]
    pub fn strict_deletion(Flow { table, priority, matches, .. }: &Flow) -> Self {
        Self::DeleteStrict { table: *table, priority: *priority, matches: matches.encode() }
    }

    /// Whether this adds a flow that sends to a group, which a bundle has to set before.
    #[must_use]
    pub fn sends_to_group(&self) -> bool {
        self.groups().next().is_some()
    }

    /// The groups to which an added flow sends.
    pub(super) fn groups(&self) -> impl Iterator<Item = GroupId> {
        let steps = match self {
            Self::Add(Flow { action: Action::Apply { steps, .. }, .. }) => steps.as_slice(),
            Self::Add(_) | Self::Delete(_) | Self::DeleteCookies(_) | Self::DeleteStrict { .. } => &[],
        };
        steps.iter().filter_map(|step| match step {
            Step::Group(id) => Some(*id),
            _ => None,
        })
    }

    /// The content of the message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = match self {
            Self::Add(Flow { table, priority, cookie, matches, .. }) => {
                let cookie = CookieFilter { value: cookie.0, mask: 0 };
                head(cookie, (*table, ADD), *priority, &matches.encode())
            }
            Self::Delete(matches) => head(CookieFilter::ANY, (ALL_TABLES, DELETE), 0, &matches.encode()),
            Self::DeleteCookies(cookies) => head(*cookies, (ALL_TABLES, DELETE), 0, &Oxm::default()),
            Self::DeleteStrict { table, priority, matches } => {
                head(CookieFilter::ANY, (*table, DELETE_STRICT), *priority, matches)
            }
        };
        if let Self::Add(flow) = self {
            bytes.extend(flow.action.encode().bytes());
        }
        bytes
    }
}

fn head(cookies: CookieFilter, (table, command): (u8, u8), priority: u16, matches: &Oxm) -> Vec<u8> {
    let (timeouts, flags, importance) = (0_u32, 0_u16, 0_u16);
    let cookies = [cookies.value, cookies.mask].map(u64::to_be_bytes).concat();
    let settings = [&[table, command], &timeouts.to_be_bytes()[..], &priority.to_be_bytes()].concat();
    // Which buffered frame is sent, and to which port and group the deleted flows send.
    let filter = [NO_BUFFER, ANY, ANY].map(u32::to_be_bytes).concat();
    let rest = [flags.to_be_bytes(), importance.to_be_bytes()].concat();
    [cookies, settings, filter, rest, oxm_match::encode(matches)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortNumber;
    use crate::flow::{Cookie, Output};

    #[test]
    fn a_flow_is_written_as_the_standard_says() {
        let matches = Match { in_port: PortNumber::new(7), ..Match::default() };
        let action = Action::Output(Output::Normal);
        let flow = Flow { table: 3, priority: 258, cookie: Cookie(9), matches: matches.clone(), action };
        let oxm = [0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 0];
        let fixed = |cookie: u8, table: u8, command: u8, priority: [u8; 2]| {
            let head = [[0; 7].as_slice(), &[cookie], &[0; 8], &[table, command, 0, 0, 0, 0], &priority].concat();
            [&head[..], &[0xff; 12], &[0; 4], &oxm].concat()
        };
        let output = [0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfa, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(FlowMod::Add(flow).encode(), [&fixed(9, 3, 0, [1, 2])[..], &output].concat());
        assert_eq!(FlowMod::Delete(matches.clone()).encode(), fixed(0, 0xff, 3, [0, 0]));
        let of_mark = [&[0, 9][..], &[0; 6], &[0xff, 0xff], &[0; 6], &[0xff, 3]].concat();
        let cookies = FlowMod::DeleteCookies(CookieFilter::of_mark(9)).encode();
        assert_eq!((&cookies[..18], &cookies[40..]), (&of_mark[..], &[0, 1, 0, 4, 0, 0, 0, 0][..]));
        let strict = FlowMod::DeleteStrict { table: 3, priority: 258, matches: matches.encode() };
        assert_eq!(strict.encode(), fixed(0, 3, 4, [1, 2]));
    }
}
