//! The columns of this crate are those of the installed schema.

use serde_json::Value as Json;
use usnet_ovsdb::schema::TABLES;
use usnet_ovsdb::{Column, ColumnKind};

fn kind(column: &Json) -> ColumnKind {
    let column_type = &column["type"];
    if column_type.get("value").is_some() {
        return ColumnKind::Map;
    }
    match column_type.get("max") {
        None => ColumnKind::Single,
        Some(max) if max == 1 => ColumnKind::Single,
        Some(_) => ColumnKind::Set,
    }
}

#[test]
fn columns_have_the_kind_of_the_schema() {
    let text = std::fs::read_to_string("/usr/share/openvswitch/vswitch.ovsschema").expect("the schema");
    let schema: Json = serde_json::from_str(&text).expect("JSON");
    for table in TABLES {
        for Column { name, kind: ours } in table.columns {
            let column = &schema["tables"][table.name]["columns"][name];
            assert!(column.is_object(), "{}.{name} is not in the schema", table.name);
            assert_eq!(*ours, kind(column), "{}.{name}", table.name);
        }
    }
}
