//! The rules of host-local and static themselves, in Rust and, as far as CEL can compare addresses,
//! in CEL: what breaks one of them is refused when it is written, and not at the start of each pod.
//! What these plugins accept is accepted, with two exceptions: keys that they silently
//! ignore, and gateways that no pod can reach.

use super::divided_ranges::range_sets;
use super::node_prefix::HOST_LOCAL;
use super::problem::IpamProblem;
use super::spec::{IpamRange, IpamSpec};
use crate::InterfaceAddress;
use crate::cel::at;
use crate::network::AttachmentSpec;
use crate::problem::{Problem, Problems};
use ipnet::IpNet;
use kube::core::Rule;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The plugin that assigns the addresses of its configuration.
pub(crate) const STATIC: &str = "static";
/// The longest prefixes of subnets that host-local takes: without them it has no address to give.
const PREFIX_MAX: [(u8, u8); 2] = [(4, 30), (6, 126)];
const RANGES: &str = "spec.ipam.ranges";

/// The keys that both plugins read, beside those that are typed.
const KEYS: [&str; 2] = ["name", "routes"];
/// Those of host-local.
const HOST_LOCAL_KEYS: [&str; 7] = ["ranges", "subnet", "rangeStart", "rangeEnd", "gateway", "dataDir", "resolvConf"];
/// Those of static.
const STATIC_KEYS: [&str; 2] = ["addresses", "dns"];

/// The rules that need nothing but the configuration. Others report what is no address or subnet.
pub(super) fn check(problems: &mut Problems, ipam: &IpamSpec) {
    let keys: &[&str] = match ipam.plugin.as_str() {
        HOST_LOCAL => &HOST_LOCAL_KEYS,
        STATIC => &STATIC_KEYS,
        _ => return,
    };
    unknown_keys(problems, ipam, keys);
    if ipam.plugin == HOST_LOCAL {
        host_local(problems, ipam);
    }
}

/// Go reads keys in any case.
fn unknown_keys(problems: &mut Problems, ipam: &IpamSpec, known: &[&str]) {
    let is_read = |key: &str| known.iter().chain(&KEYS).any(|known| known.eq_ignore_ascii_case(key));
    for key in ipam.other.keys().filter(|key| !is_read(key)) {
        let problem = IpamProblem::Key { plugin: ipam.plugin.clone(), advice: advice(key, known) };
        // What a user writes as a key may be long.
        problems.add(format!("spec.ipam.{}", key.chars().take(40).collect::<String>()), problem.into());
    }
}

fn advice(key: &str, known: &[&str]) -> String {
    let meant = match key.to_ascii_lowercase().as_str() {
        "startrange" | "range_start" | "start" | "startip" => Some("rangeStart"),
        "endrange" | "range_end" | "end" | "endip" => Some("rangeEnd"),
        "range" | "network" | "cidr" | "iprange" | "ipranges" => Some("ranges"),
        "gw" => Some("gateway"),
        _ => None,
    };
    let meant = meant.filter(|meant| known.contains(meant));
    meant.map_or_else(|| format!("its keys are {}", [known, &KEYS].concat().join(", ")), |it| format!("use {it}"))
}

fn host_local(problems: &mut Problems, ipam: &IpamSpec) {
    let sets = range_sets(ipam);
    let has_other_spelling = ["ranges", "subnet"].iter().any(|known| has_key(ipam, known));
    if ipam.node_prefix.is_none() && !has_other_spelling {
        problems.add_if(sets.is_empty(), RANGES, IpamProblem::NoRange.into());
    }
    problems.add_if(ipam.ranges.iter().any(Vec::is_empty), RANGES, IpamProblem::EmptyRangeSet.into());
    problems.add_if(sets.iter().any(|set| !is_of_one_family(set)), RANGES, IpamProblem::MixedRangeSet.into());
    let parsed: Vec<Vec<Ends>> = sets.iter().map(|set| set.iter().filter_map(Ends::of).collect()).collect();
    let all = || parsed.iter().flatten();
    if let Some(small) = all().find(|ends| is_small(&ends.subnet)) {
        problems.add(RANGES, IpamProblem::SubnetTooSmall(small.subnet).into());
    }
    if let Some(reversed) = all().find(|ends| ends.is_written_reversed) {
        problems.add(RANGES, IpamProblem::RangeReversed { start: reversed.first, end: reversed.last }.into());
        return;
    }
    // Another rule says that of divided ranges.
    if ipam.node_prefix.is_none()
        && let Some(subnet) = first_overlap(&all().collect::<Vec<_>>())
    {
        problems.add(RANGES, IpamProblem::RangesOverlap(subnet).into());
    }
}

fn has_key(ipam: &IpamSpec, known: &str) -> bool {
    ipam.other.keys().any(|key| key.eq_ignore_ascii_case(known))
}

fn is_of_one_family(set: &[IpamRange]) -> bool {
    let mut families = set.iter().filter_map(|range| Some(range.subnet.parse::<IpNet>().ok()?.addr().is_ipv4()));
    let first = families.next();
    families.all(|family| Some(family) == first)
}

fn is_small(subnet: &IpNet) -> bool {
    subnet.prefix_len() > subnet.max_prefix_len() - 2
}

/// The first and the last address of a range as host-local fills them in.
struct Ends {
    first: IpAddr,
    last: IpAddr,
    subnet: IpNet,
    /// Whether both are written, and the last is before the first.
    is_written_reversed: bool,
}

impl Ends {
    fn of(range: &IpamRange) -> Option<Self> {
        let subnet: IpNet = range.subnet.parse().ok()?;
        let written = |text: &Option<String>| text.as_ref().map(|text| text.parse::<IpAddr>()).transpose().ok();
        let (start, end) = (written(&range.range_start)?, written(&range.range_end)?);
        let is_written_reversed = start.zip(end).is_some_and(|(start, end)| start > end);
        let first = start.unwrap_or_else(|| next(subnet.network()));
        Some(Self { first, last: end.unwrap_or_else(|| last_of(&subnet)), subnet, is_written_reversed })
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4() && self.first <= other.last && other.first <= self.last
    }
}

fn next(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits().saturating_add(1)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits().saturating_add(1)).into(),
    }
}

fn last_of(subnet: &IpNet) -> IpAddr {
    match subnet.broadcast() {
        IpAddr::V4(broadcast) => Ipv4Addr::from_bits(broadcast.to_bits().saturating_sub(1)).into(),
        last @ IpAddr::V6(_) => last,
    }
}

/// The subnet of a range that has addresses of an earlier one.
fn first_overlap(ranges: &[&Ends]) -> Option<IpNet> {
    let overlaps = |(index, range): (usize, &&Ends)| {
        ranges.iter().take(index).any(|earlier| earlier.overlaps(range)).then_some(range.subnet)
    };
    ranges.iter().enumerate().find_map(overlaps)
}

/// What the addresses of pods that the network fixes must be: addresses of hosts, and those of a
/// subnet of host-local, whose gateway and routes the pod gets.
pub(in crate::network) fn check_fixed(
    problems: &mut Problems,
    ipam: Option<&IpamSpec>,
    attachments: &[AttachmentSpec],
) {
    let subnets = ipam.filter(|ipam| ipam.plugin == HOST_LOCAL).map(range_sets).unwrap_or_default();
    let subnets: Vec<IpNet> = subnets.iter().flatten().filter_map(|range| range.subnet.parse().ok()).collect();
    for (index, attachment) in attachments.iter().enumerate() {
        for (place, text) in attachment.ips.iter().enumerate() {
            let Ok(address) = text.parse::<InterfaceAddress>() else { continue };
            let field = format!("spec.attachments[{index}].ips[{place}]");
            if !address.is_assignable() {
                problems.add(field, IpamProblem::NotAssignable(address).into());
            } else if !subnets.is_empty() && !subnets.iter().any(|subnet| subnet.contains(&address.ip())) {
                problems.add(field, IpamProblem::OutsideOfRanges(address.ip()).into());
            }
        }
    }
    let has_fixed = attachments.iter().any(|attachment| !attachment.ips.is_empty());
    if let Some(ipam) = ipam.filter(|ipam| ipam.plugin == STATIC) {
        let has_none = ipam.addresses.is_empty() && !has_key(ipam, "addresses") && !has_fixed;
        problems.add_if(has_none, "spec.ipam.addresses", IpamProblem::NoStaticAddress.into());
    }
}

/// With host-local.
fn host_local_rule(expression: &str, problem: &Problem) -> Rule {
    at(".ranges", format!("self.type != '{HOST_LOCAL}' || {expression}"), problem)
}

pub(super) fn has_range() -> Rule {
    let has_some = "has(self.nodePrefix) || has(self.subnet) || (has(self.ranges) && size(self.ranges) > 0)";
    host_local_rule(has_some, &IpamProblem::NoRange.into())
}

pub(super) fn no_empty_set() -> Rule {
    host_local_rule("!has(self.ranges) || self.ranges.all(set, size(set) > 0)", &IpamProblem::EmptyRangeSet.into())
}

pub(super) fn one_family() -> Rule {
    let is_valid = |range: &str| format!("isCIDR({range}.subnet)");
    let family = |range: &str| format!("cidr({range}.subnet).ip().family()");
    let (range, first) = ("r", "set[0]");
    let same = format!("{} == {}", family(range), family(first));
    let all = format!(
        "!has(self.ranges) || self.ranges.all(set, set.all(r, !{} || !{} || {same}))",
        is_valid(range),
        is_valid(first)
    );
    host_local_rule(&all, &IpamProblem::MixedRangeSet.into())
}

pub(super) fn large_enough() -> Rule {
    let fits = |subnet: &str| {
        let of_family = PREFIX_MAX.map(|(family, maximum)| {
            format!("(cidr({subnet}).ip().family() == {family} && cidr({subnet}).prefixLength() <= {maximum})")
        });
        format!("(!isCIDR({subnet}) || {})", of_family.join(" || "))
    };
    let only = format!("(!has(self.subnet) || {})", fits("self.subnet"));
    let all = format!("(!has(self.ranges) || self.ranges.all(set, set.all(r, {})))", fits("r.subnet"));
    let expression = format!("self.type != '{HOST_LOCAL}' || ({only} && {all})");
    let message = "a subnet is too small: host-local has addresses to give in prefixes up to /30, or /126 of IPv6";
    crate::cel::rule(expression, message).field_path(".ranges")
}

/// On the whole spec.
pub(in crate::network) fn static_addresses() -> Rule {
    let has_some = format!(
        "!has(self.ipam) || self.ipam.type != '{STATIC}' || (has(self.ipam.addresses) && size(self.ipam.addresses) > 0) || (has(self.attachments) && self.attachments.exists(a, has(a.ips) && size(a.ips) > 0))"
    );
    at(".ipam.addresses", has_some, &IpamProblem::NoStaticAddress.into())
}

/// The gateway beside `subnet` is in it, or one of the link (IPv6): a pod reaches no other.
pub(super) fn reachable_gateway() -> Rule {
    let is_unset = "!has(self.subnet) || !isCIDR(self.subnet) || !has(self.gateway) || !isIP(self.gateway)";
    let of_link = "(ip(self.gateway).family() == 6 && ip(self.gateway).isLinkLocalUnicast())";
    let expression = format!("{is_unset} || cidr(self.subnet).containsIP(self.gateway) || {of_link}");
    crate::cel::rule(expression, "gateway is outside of subnet").field_path(".gateway")
}

/// The same in Rust.
pub(super) fn is_reachable(gateway: IpAddr, subnet: &IpNet) -> bool {
    let is_of_link = match gateway {
        IpAddr::V4(_) => false,
        IpAddr::V6(gateway) => gateway.is_unicast_link_local() && matches!(subnet, IpNet::V6(_)),
    };
    subnet.contains(&gateway) || is_of_link
}
