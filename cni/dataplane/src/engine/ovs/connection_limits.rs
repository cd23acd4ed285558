//! How many connections each network with policies may have (IO): all bridges of a switch share one
//! table, of 3,000,000 connections, which the pods of one network could fill for all.

use std::path::Path;
use std::time::Duration;
use usnet_ovsdb::control::{self, ConnectionLimit, ControlError, Question};

/// A tenth of the table. Beyond it the first packet of a connection passes and its answer does not.
pub const CONNECTIONS_MAX: u32 = 300_000;

/// The connections of a zone, as the switch counts them since they are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedZone {
    pub zone: u16,
    pub limit: u32,
    pub connections: u32,
}

/// Limits the connections of the zones that have no limit yet, and returns those of all zones with
/// one: that of a user is left. `folder` is that of the database's socket.
pub fn keep(folder: &Path, timeout: Duration, zones: &[u16]) -> Result<Vec<LimitedZone>, ControlError> {
    let mut limited = read(folder, timeout)?;
    for zone in zones.iter().copied().filter(|zone| !limited.iter().any(|limited| limited.zone == *zone)) {
        control::limit_connections(folder, ConnectionLimit { zone, limit: CONNECTIONS_MAX }, timeout)?;
    }
    if zones.iter().any(|zone| !limited.iter().any(|limited| limited.zone == *zone)) {
        limited = read(folder, timeout)?;
    }
    limited.retain(|limited| zones.contains(&limited.zone));
    Ok(limited)
}

fn read(folder: &Path, timeout: Duration) -> Result<Vec<LimitedZone>, ControlError> {
    let text = control::ask(folder, Question::ConnectionLimits, timeout)?;
    Ok(text.lines().filter_map(limited_zone).collect())
}

/// A line as `zone=65535,limit=300000,count=17`; others are about no zone.
fn limited_zone(line: &str) -> Option<LimitedZone> {
    let mut parts = line.trim().split(',');
    let mut value = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix('=')?.parse().ok();
    let (zone, limit, connections) = (value("zone")?, value("limit")?, value("count")?);
    Some(LimitedZone { zone: u16::try_from(zone).ok()?, limit, connections })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_read_and_the_default_is_none() {
        let of = |line| limited_zone(line).map(|LimitedZone { zone, limit, connections }| (zone, limit, connections));
        assert_eq!(of("zone=65535,limit=300000,count=17"), Some((65_535, 300_000, 17)));
        for line in ["default limit=0", "zone=65536,limit=1,count=1", "zone=7,limit=1", "zone=7,count=1,limit=1", ""] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
