//! The tables of reasons in `docs/errors.md`: generated from [`crate::conditions::reason`], each
//! between two comments. One has all reasons, and for each place there is one with their names.

use super::markdown::table;
use crate::conditions::reason::{self, Occurrence, Place, Reason};

const END: &str = "<!-- end of reasons -->\n";

/// The order of the rows of the table of a place.
const STATES: [&str; 21] = [
    "",
    "Ready True",
    "Ready, Programmed True",
    "Ready Unknown",
    "Ready False",
    "Accepted True",
    "Accepted False",
    "DefinitionsReady True",
    "DefinitionsReady False",
    "Programmed False",
    "OVSConnected, VPPConnected True",
    "OVSConnected, VPPConnected False",
    "OVSConnected False",
    "VPPConnected False",
    "MetricsServed False",
    "ManifestsAccepted True",
    "ManifestsAccepted False",
    "DeletionBlocked True",
    "Pending",
    "Failed",
    "Draining",
];

/// The page has no place for one of the tables.
#[derive(Debug, thiserror::Error)]
#[error("docs/errors.md has no {0:?} with {END:?} after it")]
pub struct NoPlace(String);

/// The page with its tables made again.
pub fn page(page: &str) -> Result<String, NoPlace> {
    let page = replaced(page, "all reasons", &all())?;
    let of_place = |page: String, place| replaced(&page, &format!("reasons of: {}", name(place)), &names(place));
    Place::ALL.into_iter().try_fold(page, of_place)
}

fn replaced(page: &str, what: &str, table: &str) -> Result<String, NoPlace> {
    let start = format!("<!-- {what}; made by `make crds` from crds/src/conditions/reason -->\n");
    let found = page.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = found.ok_or_else(|| NoPlace(start.clone()))?;
    Ok(format!("{before}{start}{table}\n{END}{after}"))
}

const fn name(place: Place) -> &'static str {
    match place {
        Place::Network => "network",
        Place::Attachment => "attachment",
        Place::Uplink => "uplink",
        Place::Node => "node",
        Place::NodeEvent => "event of a node",
        Place::NetworkOnNode => "network on a node",
        Place::Interface => "interface of a pod",
        Place::AffectedPod => "pod",
        Place::UplinkOnNode => "uplink on a node",
    }
}

/// All reasons, with what they mean in each place and what to do.
fn all() -> String {
    let mut reasons: Vec<&Reason> = reason::all().collect();
    reasons.sort_by_key(|reason| reason.name);
    let row = |reason: &Reason| {
        let meaning = |one: &Occurrence| {
            let is_twice = reason.occurrences.iter().filter(|other| other.place == one.place).count() > 1;
            let state = if is_twice { format!(", {}", one.state) } else { String::new() };
            format!("{}{state}: {}", name(one.place), one.meaning)
        };
        let meanings: Vec<String> = reason.occurrences.iter().map(meaning).collect();
        [format!("`{}`", reason.name), meanings.join("<br>"), reason.remedy.to_owned()]
    };
    let mut text = String::new();
    table(&mut text, ["reason", "of what, and what it means", "what to do"], reasons.into_iter().map(row));
    text
}

/// The names of the reasons of a place, with a star where an operator is needed.
fn names(place: Place) -> String {
    let of_state = |state: &str| {
        let is_here = |occurrence: &Occurrence| occurrence.place == place && occurrence.state == state;
        let here = reason::all().filter(|reason| reason.occurrences.iter().any(is_here));
        let star = |reason: &Reason| if reason.needs_operator && state == "Failed" { "\\*" } else { "" };
        let mut names: Vec<String> = here.map(|reason| format!("`{}`{}", reason.name, star(reason))).collect();
        names.sort();
        names.join(", ")
    };
    let rows: Vec<[String; 2]> = STATES
        .into_iter()
        .map(|state| [state.to_owned(), of_state(state)])
        .filter(|[_, names]| !names.is_empty())
        .collect();
    match rows.as_slice() {
        [[state, names]] if state.is_empty() => format!("\n{names}.\n"),
        _ => {
            let mut text = String::new();
            table(&mut text, ["of", "reasons"], rows);
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_position() {
        for occurrence in reason::all().flat_map(|reason| reason.occurrences) {
            assert!(STATES.contains(&occurrence.state), "{occurrence:?}");
        }
    }

    #[test]
    fn a_reason_has_one_row_and_its_name_is_in_the_table_of_each_place() {
        let start =
            "| `VniTaken` | network: another network has the VNI at that UDP port<br>network on a node: a VXLAN";
        let rows: Vec<String> = all().lines().filter(|line| line.starts_with(start)).map(ToOwned::to_owned).collect();
        assert_eq!(rows.len(), 1);
        assert!(all().contains("| network on a node, Pending: operations"), "two states of one place are told apart");
        let names = |place| names(place).lines().map(ToOwned::to_owned).collect::<Vec<_>>();
        let on_node = names(Place::UplinkOnNode);
        let failed = on_node.iter().find(|line| line.starts_with("| Failed |")).unwrap();
        assert!(failed.contains("`NicLost`, `NicMergesPackets`, `NicMissing`\\*, `NicTaken`\\*"), "{failed}");
        assert!(names(Place::Network).contains(&"| Accepted True | `Valid` |".to_owned()));
    }

    #[test]
    fn a_page_without_a_place_for_a_table_is_refused() {
        assert!(page("# Errors\n").unwrap_err().to_string().contains("all reasons"));
    }
}
