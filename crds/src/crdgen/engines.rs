//! What is generated of `docs/engines.md`: how nodes are prepared, from
//! [`crate::userspace_engine::preparation`].

use super::markdown::{NoPlace, replaced, table};
use crate::userspace_engine::preparation::distribution::Distribution;
use crate::userspace_engine::preparation::needs::Needs;
use crate::userspace_engine::preparation::{NodeFacts, Step, boot, steps};
use crate::userspace_engine::types::HugepageSize;

/// The page with what is generated of it made again.
///
/// # Errors
/// The page has no place for it.
pub fn page(page: &str) -> Result<String, NoPlace> {
    let what = "preparation of nodes; made by `make crds` from crds/src/userspace_engine/preparation";
    replaced(page, what, &preparation())
}

fn preparation() -> String {
    let node = NodeFacts { name: "NODE".to_owned(), ..NodeFacts::default() };
    let code = |text: &str| format!("`{text}`");
    let mut text = String::new();
    let parameters = |(spec, needs): (&str, Needs)| [code(spec), code(&boot::parameters(&needs, &node).join(" "))];
    table(&mut text, ["for", "boot parameters"], examples().map(parameters));
    let placeholder = ["…".to_owned()];
    let way = |distribution: Distribution| {
        let lines: Vec<String> = distribution.lines(&placeholder).iter().map(|line| prose(line)).collect();
        [distribution.name("").to_owned(), lines.join("<br>")]
    };
    table(&mut text, ["distribution", "how boot parameters are set"], Distribution::KNOWN.into_iter().map(way));
    let of_kubelet = Needs { exclusive_cpus: 2, ..Needs::default() };
    let of_module = Needs { has_vfio: true, ..Needs::default() };
    text + &block("For `cpus.exclusive`", &steps(&of_kubelet, &node))
        + &block("For `nics: PCI`, besides its boot parameters", &steps(&of_module, &node))
}

fn block(what: &str, steps: &[Step]) -> String {
    let lines = |step: &Step| format!("{}:\n    {}\n", step.title, step.lines.join("\n    "));
    let lines: String = steps.iter().map(lines).collect();
    format!("\n{what}:\n\n```text\n{lines}```\n")
}

/// The specs of the table.
fn examples() -> impl Iterator<Item = (&'static str, Needs)> {
    let hugepages = |size, number| Needs { hugepages: [(size, number)].into(), ..Needs::default() };
    [
        ("memory: {packets: 1Gi, hugepages: 2Mi}", hugepages(HugepageSize::Mi2, 512)),
        ("memory: {packets: 4Gi, hugepages: 1Gi}", hugepages(HugepageSize::Gi1, 4)),
        ("cpus: {list: 2-3}", Needs { listed_cpus: [2, 3].into(), ..Needs::default() }),
        ("nics: PCI", Needs { has_iommu: true, has_vfio: true, ..Needs::default() }),
    ]
    .into_iter()
}

/// A command as code, a comment as text.
fn prose(line: &str) -> String {
    line.strip_prefix("# ").map_or_else(|| format!("`{line}`"), ToOwned::to_owned)
}
