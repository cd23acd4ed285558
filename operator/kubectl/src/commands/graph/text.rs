//! The graph as a tree. A large one has fewer details, so that a user can read it.

use super::frames::kind;
use super::report::{Graph, NetworkVertex, NodeVertex};
use crate::commands::pods::report::{Attached, Program, Waiting, interface_text};
use crate::commands::shared::{join_first, unread_text};
use crate::output::{count, line};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The maximum number of lines of networks with all details, or with fewer.
const LINES_MAX: usize = 150;
/// The maximum number of problems of a network that are listed when there are few details.
const PROBLEMS_MAX: usize = 3;

/// What the tree of a network shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Each node with pods or a problem, and its pods.
    Pods,
    /// Each node with pods or a problem, and its pods that have one.
    Nodes,
    /// Numbers, and what has a problem.
    Numbers,
}

/// A line of the tree, and what is below it.
#[derive(Debug, Clone, Default)]
struct Branch {
    text: String,
    is_problem: bool,
    below: Vec<Branch>,
}

/// Returns the text without colours.
pub(crate) fn text(graph: &Graph) -> String {
    colored_text(graph, false)
}

/// Returns the text, with problems in red if it is for a terminal with colours.
pub(super) fn colored_text(graph: &Graph, has_colors: bool) -> String {
    let mut text = if graph.networks.is_empty() { "There are no networks.\n".to_owned() } else { String::new() };
    let (detail, trees) = trees(graph);
    for (index, tree) in trees.iter().enumerate() {
        if index > 0 && detail != Detail::Numbers {
            text.push('\n');
        }
        add(&mut text, tree, "", "", has_colors);
    }
    for problem in node_problems(graph) {
        text.push('\n');
        add(&mut text, &problem, "", "", has_colors);
    }
    if detail != Detail::Pods && graph.networks.len() > 1 {
        text.push_str("\nShortened; all of a network: kubectl usnet graph NETWORK\n");
    }
    text + &unread_text(&graph.not_read)
}

/// Returns the trees with as many details as are readable; of one network all.
fn trees(graph: &Graph) -> (Detail, Vec<Branch>) {
    for detail in [Detail::Pods, Detail::Nodes] {
        let trees: Vec<_> = graph.networks.iter().map(|network| tree(network, detail)).collect();
        if graph.networks.len() == 1 || trees.iter().map(Branch::lines).sum::<usize>() <= LINES_MAX {
            return (detail, trees);
        }
    }
    (Detail::Numbers, graph.networks.iter().map(|network| tree(network, Detail::Numbers)).collect())
}

/// Returns the problems of nodes, each with the nodes that have it.
fn node_problems(graph: &Graph) -> Vec<Branch> {
    let mut groups: BTreeMap<Vec<&str>, (&str, Vec<String>)> = BTreeMap::new();
    for node in &graph.nodes {
        for problem in &node.problems {
            let group = groups.entry(kind(problem)).or_insert((problem, Vec::new()));
            group.1.push(line(&node.name));
        }
    }
    let branch = |(problem, names): (&str, Vec<String>)| {
        let nodes = if names.len() == 1 { "node".to_owned() } else { count(names.len(), "node") };
        Branch {
            text: format!("{nodes} {}  {}", join_first(&names, 3), line(problem)),
            is_problem: true,
            below: vec![],
        }
    };
    groups.into_values().map(branch).collect()
}

fn tree(network: &NetworkVertex, detail: Detail) -> Branch {
    let NetworkVertex { name, description, topology, nodes, waiting, .. } = network;
    let (used, empty): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.has_pods());
    let mut below = match detail {
        Detail::Pods | Detail::Nodes => used.iter().map(|node| node_branch(node, detail)).collect(),
        Detail::Numbers => numbers(&used, &empty),
    };
    // The node of a problem is named once, and not for each network.
    let is_named = |node: &&&NodeVertex| detail != Detail::Numbers || node.has_own_failure();
    below.extend(without_pods(&empty.iter().filter(is_named).copied().collect::<Vec<_>>()));
    below.extend(waiting.iter().map(waiting_branch));
    if below.is_empty() {
        below.push(Branch { text: "on no node".to_owned(), ..Branch::default() });
    }
    let text = format!("{}  ({}; {})", line(name), line(description), line(topology));
    Branch { text, is_problem: false, below }
}

fn node_branch(node: &NodeVertex, detail: Detail) -> Branch {
    let is_listed = |is_problem: bool| is_problem || detail == Detail::Pods;
    let interfaces = node.interfaces.iter().filter(|attached| is_listed(is_problem(attached.program)));
    let mut below: Vec<_> = interfaces.map(interface_branch).chain(node.waiting.iter().map(waiting_branch)).collect();
    let listed = i64::try_from(below.len() - node.waiting.len()).unwrap_or_default();
    let others = node.attachments() - listed;
    if others > 0 {
        let more = if below.is_empty() { "" } else { "more " };
        let noun = if others == 1 { "interface" } else { "interfaces" };
        below.push(Branch { text: format!("{others} {more}{noun}"), ..Branch::default() });
    }
    Branch { text: format!("{} {}", line(&node.name), state(node)), is_problem: node.is_bad(), below }
}

fn state(node: &NodeVertex) -> String {
    let reason = if node.reason.is_empty() { String::new() } else { format!(": {}", line(&node.reason)) };
    format!("{}{reason}", node.state)
}

/// Returns the nodes without pods, those with the same reason together.
fn without_pods(nodes: &[&NodeVertex]) -> Vec<Branch> {
    let mut groups: BTreeMap<(&str, &str), Vec<&NodeVertex>> = BTreeMap::new();
    for node in nodes {
        let reason = node.reason.split(':').next().unwrap_or_default();
        groups.entry((&node.state, reason)).or_default().push(node);
    }
    let branch = |((_, _), nodes): ((&str, &str), Vec<&NodeVertex>)| {
        let first = nodes.first()?;
        let names: Vec<_> = nodes.iter().map(|node| line(&node.name)).collect();
        let text = match nodes.len() {
            1 => format!("{} {}", line(&first.name), state(first)),
            number => format!("{number} nodes {}, without pods: {}", state(first), join_first(&names, 3)),
        };
        Some(Branch { text, is_problem: first.is_bad(), below: Vec::new() })
    };
    groups.into_iter().filter_map(branch).collect()
}

/// Returns the numbers of nodes and interfaces, and what has a problem.
fn numbers(used: &[&NodeVertex], empty: &[&NodeVertex]) -> Vec<Branch> {
    let interfaces: i64 = used.iter().map(|node| node.attachments()).sum();
    let interfaces = count(usize::try_from(interfaces).unwrap_or_default(), "interface");
    let number = |is_wanted: fn(&NodeVertex) -> bool| empty.iter().filter(|node| is_wanted(node)).count();
    let programmed = number(|node| node.state == "Programmed");
    let others = number(|node| node.state != "Programmed" && !node.has_own_failure());
    let parts = [
        (!used.is_empty()).then(|| format!("{} with {interfaces}", count(used.len(), "node"))),
        (programmed > 0).then(|| format!("{} Programmed without pods", count(programmed, "node"))),
        (others > 0).then(|| format!("{} not Programmed", count(others, "node"))),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        return Vec::new();
    }
    let mut below = vec![Branch { text, ..Branch::default() }];
    let mut problems: Vec<Branch> = used.iter().flat_map(|node| problems(node)).collect();
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    problems.truncate(PROBLEMS_MAX);
    below.extend(problems);
    if more > 0 {
        below.push(Branch { text: format!("{more} more problems"), is_problem: true, below: Vec::new() });
    }
    below
}

/// Returns what is wrong with a network on a node with pods.
fn problems(node: &NodeVertex) -> Vec<Branch> {
    if node.is_bad() {
        return vec![node_branch(node, Detail::Nodes)];
    }
    let bad = node.interfaces.iter().filter(|attached| is_problem(attached.program)).map(interface_branch);
    let place = |branch: Branch| Branch { text: format!("{} on {}", branch.text, line(&node.name)), ..branch };
    bad.chain(node.waiting.iter().map(waiting_branch)).map(place).collect()
}

fn interface_branch(attached: &Attached) -> Branch {
    let parts = [
        line(&attached.pod),
        line(&interface_text(&attached.interface, attached.source.as_deref())),
        line(&attached.addresses.join(",")),
        program(attached.program).to_owned(),
    ];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
    Branch { text, is_problem: is_problem(attached.program), below: Vec::new() }
}

fn waiting_branch(waiting: &Waiting) -> Branch {
    let interface = interface_text(&waiting.interface, waiting.source.as_deref());
    let text = format!("{}  {}  NOT ATTACHED: {}", line(&waiting.pod), line(&interface), line(&waiting.state));
    Branch { text, is_problem: true, below: Vec::new() }
}

fn is_problem(program: Program) -> bool {
    matches!(program, Program::NotConnected | Program::Failed)
}

/// Returns the state of a program, for users.
const fn program(program: Program) -> &'static str {
    match program {
        Program::Connected => "connected",
        Program::NotConnected => "NOT CONNECTED",
        Program::Failed => "FAILED",
        Program::NotNeeded | Program::Unknown => "",
    }
}

impl Branch {
    fn lines(&self) -> usize {
        1 + self.below.iter().map(Self::lines).sum::<usize>()
    }
}

fn add(text: &mut String, branch: &Branch, own: &str, indent: &str, has_colors: bool) {
    let (on, off) = if branch.is_problem && has_colors { ("\u{1b}[31m", "\u{1b}[0m") } else { ("", "") };
    let _ = writeln!(text, "{own}{on}{}{off}", branch.text);
    for (index, below) in branch.below.iter().enumerate() {
        let is_last = index + 1 == branch.below.len();
        let (own, rest) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        add(text, below, &format!("{indent}{own}"), &format!("{indent}{rest}"), has_colors);
    }
}
