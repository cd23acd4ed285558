//! Tracked connections (`nx_zone_id`, nicira-ext.h of Open vSwitch).

const NICIRA: u32 = 0x2320;
/// `NXT_CT_FLUSH_ZONE`.
const FLUSH_ZONE: u32 = 29;

/// The content of the message that removes the connections of a zone.
pub(crate) fn flush_zone(zone: u16) -> Vec<u8> {
    [&NICIRA.to_be_bytes()[..], &FLUSH_ZONE.to_be_bytes(), &[0; 6], &zone.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_flushed_as_the_switch_says() {
        assert_eq!(flush_zone(258), [0, 0, 0x23, 0x20, 0, 0, 0, 29, 0, 0, 0, 0, 0, 0, 1, 2]);
    }
}
