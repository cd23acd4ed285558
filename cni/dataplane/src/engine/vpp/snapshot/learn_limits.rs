//! How many MAC addresses each bridge domain learns at most, which only a command of VPP tells.

use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::CliInband;
use usnet_vpp::wire::Text;
use usnet_vpp::{Answers, Batch, Ticket};

/// Up to how many bridge domains it is quicker to read each of them than all.
pub(super) const FEW_DOMAINS: usize = 8;

/// One line for each bridge domain, below a line with the titles of the columns. With an id it
/// shows that one, and fails if it is not there.
const COMMAND: &str = "show bridge-domain";
/// What the titles of the columns begin with: VPP cuts them to the width of the column.
const ID_TITLE: &str = "BD-ID";
const LIMIT_TITLE: &str = "Learn-li";

#[derive(Debug)]
pub(super) struct LearnLimitsTickets(Vec<Ticket<CliInband>>);

impl LearnLimitsTickets {
    /// Requests the limits of all bridge domains.
    pub(super) fn request_all(batch: &mut Batch) -> Self {
        Self(vec![batch.request(CliInband { cmd: Text::from(COMMAND) })])
    }

    /// Requests the limits of these.
    pub(super) fn request(batch: &mut Batch, ids: &BTreeSet<u32>) -> Self {
        if ids.len() > FEW_DOMAINS {
            return Self::request_all(batch);
        }
        let of = |id: &u32| CliInband { cmd: Text::from(format!("{COMMAND} {id}")) };
        Self(ids.iter().map(|id| batch.request(of(id))).collect())
    }

    /// The limits by bridge domain. One that cannot be read is left out.
    pub(super) fn read(self, answers: &Answers) -> BTreeMap<u32, u32> {
        let texts = self.0.into_iter().filter_map(|ticket| answers.reply(ticket).ok());
        texts.flat_map(|answer| parse(answer.reply.as_str())).collect()
    }
}

fn parse(text: &str) -> BTreeMap<u32, u32> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let Some(titles) = lines.find(|line| line.contains(&ID_TITLE)) else { return BTreeMap::new() };
    let column = |title: &str| titles.iter().position(|found| found.starts_with(title));
    let Some((id, limit)) = column(ID_TITLE).zip(column(LIMIT_TITLE)) else { return BTreeMap::new() };
    let rows = lines.filter(|row| row.len() == titles.len());
    rows.filter_map(|row| Some((row.get(id)?.parse().ok()?, row.get(limit)?.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::collections::BTreeMap;

    const TEXT: &str = "\
  BD-ID   Index   BSN  Age(min)  Learning  U-Forwrd   UU-Flood   Flooding  ARP-Term  arp-ufwd Learn-count Learn-limit  BVI-Intf
    4       1      0      5         on        on       flood        on       off       off       2       8192      loop0
    5       2      0     off        on        on        drop        on       off       off       0     16777216     N/A
";

    #[test]
    fn limits_are_read_from_the_columns_of_their_titles() {
        assert_eq!(parse(TEXT), BTreeMap::from([(4, 8192), (5, 16_777_216)]));
        let cut = TEXT.replace("Learn-count Learn-limit", "Learn-co Learn-li");
        assert_eq!(parse(&cut), parse(TEXT), "of a release that cuts titles");
    }

    #[test]
    fn what_is_no_such_table_has_no_limits() {
        for text in ["", "no bridge-domains in use", "BD-ID Index\n 4 1\n", "BD-ID Learn-limit\n 4 x\n 4 1 2\n"] {
            assert_eq!(parse(text), BTreeMap::new(), "{text}");
        }
    }
}
