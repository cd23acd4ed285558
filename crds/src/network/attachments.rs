//! Settings that are fixed for a pod by name (its addresses, MAC address, VLAN and rate limit):
//! what users write ([`AttachmentSpec`]), its rules in CEL and in Rust, and what nodes read
//! ([`FixedAttachment`]).

use crate::types::address::InterfaceAddress;
use crate::types::address_pair::AddressPair;
use crate::types::mac::MacAddress;
use crate::types::names::NamespaceName;
use crate::types::pod_names::PodNames;
use crate::types::rate::RateLimit;
use crate::types::vlan::Vlan;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[cfg(feature = "api")]
pub use spec::{AddressPairSpec, AttachmentSpec};
#[cfg(feature = "api")]
pub(super) use spec::{attachments, unique_ips, unique_macs};
#[cfg(feature = "api")]
pub(crate) use spec::{ips, mac, pod, pods};

/// The settings that are fixed for one pod; those that are left out are the network's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FixedAttachment {
    /// The namespace of the pod.
    pub namespace: NamespaceName,
    /// The name of the pod, or of several.
    pub pod: PodNames,
    /// The addresses of the first pod, of which each next one has the next; none means that IPAM
    /// chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<InterfaceAddress>,
    /// The MAC address of the interface of the first pod, of which each next one has the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// The addresses that each of the pods may use besides its own, where that is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_address_pairs: Vec<AddressPair>,
    /// The VLAN of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,
    /// The rate limit of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
}

impl FixedAttachment {
    /// The settings of this pod, if they are for it.
    pub fn of_pod(&self, namespace: &str, pod: &str) -> Option<Self> {
        let place = self.pod.place_of(pod).filter(|_| self.namespace.as_str() == namespace)?;
        // The controller has checked that the last pod has addresses.
        let ips = self.ips.iter().filter_map(|ip| ip.after(place)).collect();
        Some(Self { ips, mac: self.mac.and_then(|mac| mac.after(place)), ..self.clone() })
    }

    /// The addresses of all its pods.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let places = 0..=self.pod.last_place();
        self.ips.iter().flat_map(move |ip| places.clone().filter_map(|place| Some(ip.after(place)?.ip())))
    }
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::FixedAttachment;
    use crate::cel::rule;
    use crate::network::port::vlan::{VlanSpec, vlan};
    use crate::network::port::{RateLimitSpec, rate_limit};
    use crate::problem::{Problem, Problems};
    use crate::types::address_pair::{ADDRESS_MAX, AddressPair};
    use crate::types::limits::{ADDRESS_PAIRS_MAX, ATTACHMENTS_MAX, CIDR_MAX, IPS_MAX, RANGE_PODS_MAX};
    use crate::types::mac::{MAC_PATTERN, NO_MAC};
    use crate::types::names::{NAMESPACE_NAME_MAX, NAMESPACE_NAME_PATTERN, POD_NAME_MAX, POD_NAME_PATTERN};
    use crate::types::pod_names::{ORDINALS_PATTERN, PodNames};
    use crate::{EngineKind, InterfaceAddress, MacAddress, NamespaceName};
    use kube::KubeSchema;
    use kube::core::Rule;
    use serde::{Deserialize, Serialize};
    use std::net::IpAddr;

    /// The settings that the name of a pod fixes; those that are left out are the network's.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[serde(rename_all = "camelCase")]
    pub struct AttachmentSpec {
        /// The namespace of the pod.
        #[schemars(length(max = NAMESPACE_NAME_MAX))]
        #[x_kube(validation = namespace())]
        pub namespace: String,
        /// The name of the pod, or those of pods of a StatefulSet: `db-{0..99}`, at most 1000. They
        /// need not exist yet.
        #[schemars(length(max = POD_NAME_MAX))]
        #[x_kube(validation = pods(RANGE_PODS_MAX))]
        pub pod: String,
        /// The addresses of the pod with prefix lengths, instead of those that `ipam` would choose;
        /// at most 2. Of several pods these are the addresses of the first, and each next pod has
        /// the next ones. They belong to one interface; a second interface of the pod on this
        /// network is rejected. A change applies to pods that attach afterwards.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = IPS_MAX), inner(length(max = CIDR_MAX)))]
        #[x_kube(validation = ips())]
        pub ips: Vec<String>,
        /// The MAC address of the pod's interface; of several pods that of the first. It belongs to
        /// one interface, as `ips` do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = NO_MAC.len()))]
        #[x_kube(validation = mac())]
        pub mac: Option<String>,
        /// Addresses that the pod may use besides its own with `port.antiSpoofing`, such as those
        /// of a virtual router (VRRP); at most 16. Each of several pods may use them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = ADDRESS_PAIRS_MAX))]
        pub allowed_address_pairs: Vec<AddressPairSpec>,
        /// The VLAN of the port, instead of `port.vlan`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub vlan: Option<VlanSpec>,
        /// The rate limit of the port, instead of `port.rateLimit`; {} means no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub rate_limit: Option<RateLimitSpec>,
    }

    /// An address that a pod may use besides its own ones.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct AddressPairSpec {
        /// The IP address.
        #[schemars(length(max = ADDRESS_MAX))]
        #[x_kube(validation = host())]
        pub ip: String,
        /// The MAC address that it has, if not that of the interface. The pod may use its own IP
        /// addresses with it, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = NO_MAC.len()))]
        #[x_kube(validation = mac())]
        pub mac: Option<String>,
    }

    // Rules on the whole list compare all pairs: the API server estimates their cost, so the length
    // of the list is limited.

    fn namespace() -> Rule {
        rule(
            format!("size(self) <= {NAMESPACE_NAME_MAX} && self.matches('{NAMESPACE_NAME_PATTERN}')"),
            format!("not a namespace: use 1 to {NAMESPACE_NAME_MAX} lower-case letters, digits and '-'"),
        )
    }

    pub(crate) fn pod() -> Rule {
        rule(
            format!("size(self) <= {POD_NAME_MAX} && self.matches('{POD_NAME_PATTERN}')"),
            format!("not the name of a pod: use 1 to {POD_NAME_MAX} lower-case letters, digits, '-' and '.'"),
        )
    }

    /// A pod, or a range of at most so many, whose first ordinal is not after the last one.
    pub(crate) fn pods(most: u32) -> Rule {
        let name = POD_NAME_PATTERN.trim_start_matches('^').trim_end_matches('$');
        let first = "int(self.substring(self.indexOf('{') + 1, self.indexOf('..', self.indexOf('{'))))";
        let last = "int(self.substring(self.indexOf('..', self.indexOf('{')) + 2, self.indexOf('}')))";
        let ends = format!("{first} <= {last} && {last} - {first} < {most}");
        rule(
            format!("self.matches('^{name}({ORDINALS_PATTERN})?$') && (!self.contains('{{') || {ends})"),
            format!(
                "neither the name of a pod nor a range: use 1 to {POD_NAME_MAX} lower-case letters, digits, '-' and '.', or the name of a StatefulSet with ordinals from low to high, such as db-{{0..99}}, at most {most} pods"
            ),
        )
    }

    pub(crate) fn ips() -> Rule {
        rule(
            "self.all(ip, isCIDR(ip))",
            "not an address with its prefix length: use CIDR notation, such as 10.56.217.5/24",
        )
    }

    fn host() -> Rule {
        let groups = ["224.0.0.0/3", "ff00::/8"].map(|groups| format!("!cidr('{groups}').containsIP(self)"));
        let special = ["isUnspecified", "isLoopback"].map(|kind| format!("!ip(self).{kind}()"));
        rule(
            ["isIP(self)".to_owned()].into_iter().chain(special).chain(groups).collect::<Vec<_>>().join(" && "),
            "not the IP address of a host",
        )
    }

    pub(crate) fn mac() -> Rule {
        rule(
            format!("self.matches('{MAC_PATTERN}') && self != '{NO_MAC}'"),
            "not the MAC address of an interface: write six pairs of hexadecimal digits with colons, the first pair even",
        )
    }

    pub(crate) fn unique_macs() -> Rule {
        rule(
            "self.all(a, !has(a.mac) || self.filter(b, has(b.mac) && b.mac.lowerAscii() == a.mac.lowerAscii()).size() == 1)",
            "two attachments have the same mac: give each its own",
        )
    }

    /// Addresses are compared, not their text: 10.0.0.5/24 and 10.0.0.5/16 are one address.
    pub(crate) fn unique_ips() -> Rule {
        let same = "b.ips.filter(y, isCIDR(y) && cidr(y).ip() == cidr(x).ip())";
        let count = format!("self.map(b, has(b.ips) ? size({same}) : 0).sum()");
        rule(
            format!("self.all(a, !has(a.ips) || a.ips.all(x, !isCIDR(x) || {count} == 1))"),
            "an address occurs twice in ips: give each attachment its own",
        )
    }

    /// The attachments, sorted by namespace and pod, without invalid ones.
    pub(crate) fn attachments(
        problems: &mut Problems,
        engine: EngineKind,
        specs: &[AttachmentSpec],
    ) -> Vec<FixedAttachment> {
        let too_many = Problem::TooMany { count: specs.len(), maximum: ATTACHMENTS_MAX };
        problems.add_if(specs.len() > ATTACHMENTS_MAX, "spec.attachments", too_many);
        let mut used = UsedAddresses::default();
        let mut all: Vec<FixedAttachment> = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            let field = format!("spec.attachments[{index}]");
            let Some(one) = attachment(problems, engine, &field, spec) else { continue };
            used.reserve(problems, &field, &one);
            let mut earlier = all.iter().filter(|other| other.namespace == one.namespace);
            if let Some(FixedAttachment { pod: other, .. }) = earlier.find(|other| other.pod.overlaps(&one.pod)) {
                let (pod, other) = (one.pod.clone(), other.clone());
                problems.add(field, Problem::AttachmentTwice { namespace: one.namespace.clone(), pod, other });
            }
            all.push(one);
        }
        all.sort_by(|one, other| (&one.namespace, &one.pod).cmp(&(&other.namespace, &other.pod)));
        all
    }

    fn attachment(
        problems: &mut Problems,
        engine: EngineKind,
        field: &str,
        spec: &AttachmentSpec,
    ) -> Option<FixedAttachment> {
        let namespace = problems.check(&format!("{field}.namespace"), NamespaceName::try_from(spec.namespace.clone()));
        let pod = problems.check(&format!("{field}.pod"), PodNames::try_from(spec.pod.clone()));
        let too_many = Problem::TooMany { count: spec.ips.len(), maximum: IPS_MAX };
        problems.add_if(spec.ips.len() > IPS_MAX, &format!("{field}.ips"), too_many);
        let ips = spec.ips.iter().enumerate();
        let ips = ips.filter_map(|(place, ip)| problems.check(&format!("{field}.ips[{place}]"), ip.parse())).collect();
        let mac = spec.mac.as_ref().map(|mac| problems.check(&format!("{field}.mac"), mac.parse()));
        let pairs = pairs(problems, &format!("{field}.allowedAddressPairs"), &spec.allowed_address_pairs);
        let vlan = vlan(problems, engine, &format!("{field}.vlan"), spec.vlan.as_ref());
        let rate = spec.rate_limit.map(|rate| rate_limit(problems, &format!("{field}.rateLimit"), rate));
        Some(FixedAttachment {
            namespace: namespace?,
            pod: pod?,
            ips,
            mac: mac.flatten(),
            allowed_address_pairs: pairs,
            vlan: vlan?,
            rate_limit: rate.flatten(),
        })
    }

    fn pairs(problems: &mut Problems, field: &str, specs: &[AddressPairSpec]) -> Vec<AddressPair> {
        let too_many = Problem::TooMany { count: specs.len(), maximum: ADDRESS_PAIRS_MAX };
        problems.add_if(specs.len() > ADDRESS_PAIRS_MAX, field, too_many);
        let pairs = specs.iter().enumerate().filter_map(|(place, spec)| {
            let ip = problems.check(&format!("{field}[{place}].ip"), spec.ip.parse());
            let mac = spec.mac.as_ref().map(|mac| problems.check(&format!("{field}[{place}].mac"), mac.parse()));
            Some(AddressPair { ip: ip?, mac: mac.flatten() })
        });
        pairs.collect()
    }

    /// The first and the last address of each earlier attachment.
    #[derive(Default)]
    struct UsedAddresses {
        ips: Vec<(IpAddr, IpAddr)>,
        macs: Vec<(MacAddress, MacAddress)>,
    }

    impl UsedAddresses {
        fn reserve(&mut self, problems: &mut Problems, field: &str, one: &FixedAttachment) {
            let last_place = one.pod.last_place();
            for ip in one.ips.iter().copied() {
                let field = format!("{field}.ips");
                match ip.after(last_place).map(InterfaceAddress::ip) {
                    Some(last) => {
                        let twice = reserve(&mut self.ips, (ip.ip(), last));
                        twice.into_iter().for_each(|ip| problems.add(field.clone(), Problem::IpTwice(ip)));
                    }
                    None => problems.add(field, Problem::TooFewIps { first: ip, pods: one.pod.clone() }),
                }
            }
            if let Some(mac) = one.mac {
                let field = format!("{field}.mac");
                match mac.after(last_place) {
                    Some(last) => {
                        let twice = reserve(&mut self.macs, (mac, last));
                        twice.into_iter().for_each(|mac| problems.add(field.clone(), Problem::MacTwice(mac)));
                    }
                    None => problems.add(field, Problem::TooFewMacs { first: mac, pods: one.pod.clone() }),
                }
            }
        }
    }

    /// Adds addresses to those in use; returns one that is in use already.
    fn reserve<T: Copy + Ord>(used: &mut Vec<(T, T)>, (first, last): (T, T)) -> Option<T> {
        let other = used.iter().find(|(used_first, used_last)| *used_first <= last && first <= *used_last).copied();
        used.push((first, last));
        other.map(|(used_first, _)| used_first.max(first))
    }
}
