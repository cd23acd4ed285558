//! How many sessions the ACL plugin has, in one table for all networks, and how many it may have
//! (IO).

use crate::engine::error::EngineError;
use usnet_vpp::messages::{AclPluginGetConnTableMaxEntries, CliInband};
use usnet_vpp::wire::Text;
use usnet_vpp::{Api, Batch};

/// Only this command tells how many there are. It prints much else, for which VPP stops.
const COMMAND: &str = "show acl-plugin sessions";
/// What the line begins with: `Sessions total: add 5 - del 2 = 3`.
const TOTAL: &str = "Sessions total:";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sessions {
    pub count: u64,
    /// VPP stops one before for each of its threads.
    pub max: u64,
}

/// Reads them; `None` if this VPP does not tell. VPP forwards no packets meanwhile, for 0.1 s with
/// 480,000 sessions.
///
/// # Errors
/// VPP does not answer.
pub async fn read(api: &mut impl Api) -> Result<Option<Sessions>, EngineError> {
    if !(api.supports::<CliInband>() && api.supports::<AclPluginGetConnTableMaxEntries>()) {
        return Ok(None);
    }
    let mut batch = Batch::new();
    let printed = batch.request(CliInband { cmd: Text::from(COMMAND) });
    let limit = batch.request(AclPluginGetConnTableMaxEntries {});
    let answers = api.send(&batch).await?;
    // A refused command is one that VPP does not know.
    let count = answers.reply(printed).ok().and_then(|printed| total(printed.reply.as_str()));
    let limit = answers.reply(limit).ok().map(|limit| limit.conn_table_max_entries);
    Ok(count.zip(limit).map(|(count, max)| Sessions { count, max }))
}

fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(TOTAL))?;
    let (_, total) = line.rsplit_once('=')?;
    total.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::total;

    const TEXT: &str = "\
Sessions total: add 512345 - del 12345 = 500000
Sessions active: add 512345 - deact 12400 = 499945
Sessions being purged: deact 12400 - del 12345 = 55
now: 8713270214 clocks per second: 2100000000

Per-thread data:
Thread #0:
  connection add/del stats:
    sw_if_index 0: add 0 - del 0 = 0; epoch chg: 0
";

    #[test]
    fn the_total_is_what_is_added_and_not_deleted() {
        assert_eq!(total(TEXT), Some(500_000));
        assert_eq!(total("\r\n  Sessions total: add 5 - del 2 = 3 \r\n"), Some(3));
    }

    #[test]
    fn a_text_without_a_total_has_no_sessions() {
        let (_, without_first) = TEXT.split_once('\n').unwrap();
        for text in [
            "",
            without_first,
            "unknown input `acl-plugin sessions'",
            "Sessions total: 3",
            "Sessions total: add 2 - del 5 = -3",
            "Sessions total: add 2 - del 1 = one",
            "Sessions total: add 2 - del 1 =",
            "The Sessions total: add 2 - del 1 = 1",
        ] {
            assert_eq!(total(text), None, "{text}");
        }
    }
}
