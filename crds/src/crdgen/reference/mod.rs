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
Every field of each kind, with its default and the rules that the API server checks, and every condition. Reasons, and what to do about them, are in\n\
[errors.md](errors.md), samples in [config/samples](../config/samples).\n\n\
A field without a default may be left out unless its rules say \"required\". Defaults are not stored in objects. `[]` stands for each item of a list. Objects may not have other fields.\n";

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
    page.push_str("\nColumns of `kubectl get`; those with a star need `-o wide`:\n");
    table(page, ["column", "shows"], columns.into_iter().flatten().map(column));
    page.push_str("\nFields:\n");
    let schema = crd.pointer(&format!("{version}/schema/openAPIV3Schema")).unwrap_or(&Value::Null);
    let fields = fields::fields(schema);
    table(page, ["field", "type", "default", "meaning", "rules"], fields.into_iter().map(row));
}

fn column(column: &Value) -> [String; 2] {
    let text = |key: &str| column.get(key).and_then(Value::as_str).unwrap_or_default();
    let star = if column.get("priority").is_some() { " *" } else { "" };
    let description = match text("description") {
        "" => String::new(),
        description => format!(": {description}"),
    };
    [format!("{}{star}", text("name").to_uppercase()), format!("`{}`{description}", text("jsonPath"))]
}

fn row(Field { path, kind, default, meaning, rules }: Field) -> [String; 5] {
    let code = |text: String| if text.is_empty() { text } else { format!("`{text}`") };
    [code(path), kind, code(default), meaning, rules.join("; ")]
}

fn constant_row(Constant { value, meaning }: Constant) -> [String; 2] {
    [format!("`{value}`"), meaning]
}
