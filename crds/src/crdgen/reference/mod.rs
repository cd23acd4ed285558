//! `docs/reference.md`: generated from the CRDs and the types of conditions.

mod constants;
mod fields;

use crate::crdgen::manifests::{ManifestError, with_defaults};
use crate::crdgen::markdown::table;
use constants::Constant;
use fields::Field;
use serde_json::Value;
use std::fmt::Write;

const HEADER: &str = "<!-- Made by `make crds`; edit crds/src instead. -->\n\
# Reference of the API\n\n\
The fields that users read or write, of a status those of the first level: `kubectl explain` has all.\n\
`kubectl apply --dry-run=server` names the rules that an object breaks. Reasons: [errors.md](errors.md).\n\n\
Defaults are not stored in objects. `[]` is each item of a list.\n";
/// The kinds that only usnet writes. Users look at the status of nodes, of which the fields of the
/// first level are listed.
const READ_ONLY: [&str; 5] =
    ["CompiledNetwork", "CompiledPolicy", "UserspaceNodeSlice", "UserspaceNodeState", "UserspacePodSlice"];

/// The page as Markdown.
pub fn page() -> Result<String, ManifestError> {
    let mut page = HEADER.to_owned();
    for crd in with_defaults()? {
        kind(&mut page, &crd);
    }
    page.push_str("\n## Conditions\n");
    table(&mut page, ["type", "of what, and what it means when True"], constants::condition_types().map(constant_row));
    Ok(page)
}

fn kind(page: &mut String, crd: &Value) {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = "/spec/versions/0";
    let (kind, group) = (text("/spec/names/kind"), text("/spec/group"));
    let _infallible = write!(
        page,
        "\n## {kind}\n\n{}\n\n`{group}/{}`, {} scope, short name `{}`.\n",
        text(&format!("{version}/schema/openAPIV3Schema/description")),
        text(&format!("{version}/name")),
        text("/spec/scope").to_lowercase(),
        text("/spec/names/shortNames/0"),
    );
    let columns = crd.pointer(&format!("{version}/additionalPrinterColumns")).and_then(Value::as_array);
    let columns: Vec<String> = columns.into_iter().flatten().map(column).collect();
    let _infallible = write!(page, "\n`kubectl get`, with a star only `-o wide`: {}.\n", columns.join(", "));
    let schema = crd.pointer(&format!("{version}/schema/openAPIV3Schema")).unwrap_or(&Value::Null);
    let is_read_only = READ_ONLY.contains(&kind);
    let is_listed = |field: &Field| match field.path.strip_prefix("status.") {
        Some(rest) => !rest.contains('.'),
        None => !is_read_only,
    };
    let mut fields = fields::fields(schema);
    fields.retain(is_listed);
    if is_read_only {
        let _infallible = write!(page, "\nOnly usnet writes it: `kubectl explain {}`.\n", text("/spec/names/singular"));
    }
    if !fields.is_empty() {
        table(page, ["field", "type", "meaning"], fields.into_iter().map(row));
    }
}

fn column(column: &Value) -> String {
    let text = |key: &str| column.get(key).and_then(Value::as_str).unwrap_or_default();
    let star = if column.get("priority").is_some() { "\\*" } else { "" };
    let description = match text("description") {
        "" => String::new(),
        description => format!(" ({description})"),
    };
    format!("{}{star}{description}", text("name").to_uppercase())
}

fn row(Field { path, kind, is_required, default, meaning }: Field) -> [String; 3] {
    let required = if is_required { ", required" } else { "" };
    let default = if default.is_empty() { default } else { format!(", default `{default}`") };
    [format!("`{path}`"), format!("{kind}{required}{default}"), without_tags(&meaning)]
}

/// The text with placeholders such as `<name>` that no reader takes for tags of HTML.
fn without_tags(text: &str) -> String {
    let part = |(index, part): (usize, &str)| if index % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

fn constant_row(Constant { value, meaning }: Constant) -> [String; 2] {
    [format!("`{value}`"), meaning]
}
