//! What is generated of `docs/errors.md`, each part between two comments: a heading for each error
//! of the plugin, from [`crate::cni_error`], and for each reason of [`crate::conditions::reason`],
//! and for each place a table with the names of its reasons.

use super::markdown::{NoPlace, replaced, table};
use crate::cni_error::{self, Case, CniError};
use crate::conditions::reason::{self, Occurrence, Place, Reason};

/// The order of the rows of the table of a place.
const STATES: [&str; 29] = [
    "",
    "Ready True",
    "Ready, Programmed True",
    "Ready Unknown",
    "Ready, NetworksProgrammed Unknown",
    "Ready False",
    "NetworksProgrammed True",
    "NetworksProgrammed False",
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
    "ConfigurationsAccepted False",
    "ManifestsAccepted True",
    "ManifestsAccepted False",
    "Degraded True",
    "Updated True",
    "Updated False",
    "DeletionBlocked True",
    "Programmed",
    "Pending",
    "Failed",
    "Draining",
];

/// The page with what is generated of it made again.
pub fn page(page: &str) -> Result<String, NoPlace> {
    let page = replaced(page, "errors of the plugin; made by `make crds` from crds/src/cni_error", &of_plugin())?;
    let of_reasons = |page: &str, what: &str, text: &str| {
        replaced(page, &format!("{what}; made by `make crds` from crds/src/conditions/reason"), text)
    };
    let page = of_reasons(&page, "all reasons", &all())?;
    let of_place = |page: String, place| of_reasons(&page, &format!("reasons of: {}", name(place)), &names(place));
    Place::ALL.into_iter().try_fold(page, of_place)
}

const fn name(place: Place) -> &'static str {
    match place {
        Place::Network => "network",
        Place::Attachment => "attachment",
        Place::Reservation => "reservation",
        Place::Uplink => "uplink",
        Place::Engine => "engine",
        Place::Node => "node",
        Place::NodeEvent => "event of a node",
        Place::NetworkOnNode => "network on a node",
        Place::Interface => "interface of a pod",
        Place::AffectedPod => "pod",
        Place::UplinkOnNode => "uplink on a node",
    }
}

/// The errors of the plugin by their codes, each with its cases.
fn of_plugin() -> String {
    let mut errors: Vec<&CniError> = cni_error::all().collect();
    errors.sort_by_key(|error| (error.code, error.reason));
    let section = |error: &CniError| {
        let cases: String = error.cases.iter().map(case).collect();
        let gap = if cases.is_empty() { "" } else { "\n" };
        format!("\n### {}\n\n{}\n{gap}{cases}", error.heading(), error.meaning)
    };
    errors.into_iter().map(section).collect()
}

fn case(case: &Case) -> String {
    let message = if case.message.is_empty() { String::new() } else { format!(": `{}`", case.message) };
    format!("- {}{message}.{}\n", capitalized(case.when), advice(case.remedy))
}

fn advice(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!(" **Do:** {remedy}.") }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// All reasons, with what they mean in each place and what to do.
fn all() -> String {
    let mut reasons: Vec<&Reason> = reason::all().collect();
    reasons.sort_by_key(|reason| reason.name);
    reasons.into_iter().map(section).collect()
}

/// The heading of a reason, with its meaning in each place and what to do. Where it means one thing
/// only, the tables of the places say where it is.
fn section(reason: &Reason) -> String {
    let advice = advice(reason.remedy);
    let meanings = meanings(reason);
    let text = match meanings.as_slice() {
        [(_, meaning)] => format!("{}.{advice}\n", capitalized(meaning)),
        several => {
            let line = |(place, meaning): &(String, &str)| format!("- {}: {meaning}.\n", capitalized(place));
            let list: String = several.iter().map(line).collect();
            if advice.is_empty() { list } else { format!("{list}\n{}\n", advice.trim_start()) }
        }
    };
    format!("\n### {}\n\n{text}", reason.name)
}

/// The meanings of a reason, each with its places: "the same" is that of the place before.
fn meanings(reason: &Reason) -> Vec<(String, &'static str)> {
    let mut found: Vec<(String, &'static str)> = Vec::new();
    for one in reason.occurrences {
        let is_twice = reason.occurrences.iter().filter(|other| other.place == one.place).count() > 1;
        let state = if is_twice { format!(", {}", one.state) } else { String::new() };
        match found.last_mut() {
            Some((places, _)) if one.meaning == "the same" => {
                places.push_str(", ");
                places.push_str(name(one.place));
            }
            _ => found.push((format!("{}{state}", name(one.place)), one.meaning)),
        }
    }
    found
}

/// The names of the reasons of a place, with a star where an operator is needed.
fn names(place: Place) -> String {
    let of_state = |state: &str| {
        let is_here = |occurrence: &Occurrence| occurrence.place == place && occurrence.state == state;
        let here = reason::all().filter(|reason| reason.occurrences.iter().any(is_here));
        let star = |reason: &Reason| if reason.needs_operator && state == "Failed" { "\\*" } else { "" };
        let link = |reason: &Reason| format!("[{0}](#{1}){2}", reason.name, reason.name.to_lowercase(), star(reason));
        let mut names: Vec<String> = here.map(link).collect();
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
    fn a_reason_has_one_heading_and_is_linked_in_the_table_of_each_place() {
        let headings = all().lines().filter(|line| *line == "### VniTaken").count();
        assert_eq!(headings, 1);
        assert!(
            all().contains("- Network on a node: another VXLAN device, or a network of the other engine, has its VNI")
        );
        assert!(all().contains("- Network on a node, Pending: operations"), "two states of one place are told apart");
        assert!(all().contains("- Node, network, uplink on a node: an engine that was connected"), "the same");
        let names = |place| names(place).lines().map(ToOwned::to_owned).collect::<Vec<_>>();
        let on_node = names(Place::UplinkOnNode);
        let failed = on_node.iter().find(|line| line.starts_with("| Failed |")).unwrap();
        assert!(failed.contains("[NicCarriesNode](#niccarriesnode)\\*, [NicHasFunctions]"), "{failed}");
        assert!(names(Place::Network).contains(&"| Accepted True | [Valid](#valid) |".to_owned()));
    }

    #[test]
    fn an_error_has_the_heading_that_its_anchor_names() {
        let page = of_plugin();
        for error in cni_error::all() {
            let heading = format!("### {}", error.heading());
            assert_eq!(page.lines().filter(|line| *line == heading).count(), 1, "{heading}");
            assert_eq!(error.heading().to_lowercase().replace(' ', "-"), error.anchor());
        }
        assert!(page.contains("add `volumes: [{name: usnet, emptyDir: {}}]` to the pod"));
    }

    #[test]
    fn a_page_without_a_place_for_a_table_is_refused() {
        assert!(page("# Errors\n").unwrap_err().to_string().contains("errors of the plugin"));
    }
}
