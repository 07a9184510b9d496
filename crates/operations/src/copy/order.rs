//! The order in which tables are copied.

use bobak_core::TableSchema;

/// Orders tables by name, but each after those that it refers to. Tables with circular references come last, in their own
/// order: the engine decides whether their rows can be written one table after the other.
#[must_use]
pub fn by_reference(mut tables: Vec<TableSchema>) -> Vec<TableSchema> {
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    let mut ordered = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let free = tables.iter().position(|table| !waits(table, &tables));
        ordered.push(tables.remove(free.unwrap_or(0)));
    }
    ordered
}

/// Whether a table refers to another one that is not copied yet.
fn waits(table: &TableSchema, left: &[TableSchema]) -> bool {
    table.all_foreign_keys().iter().any(|key| {
        let is_it = |other: &TableSchema| other.name().eq_ignore_ascii_case(&key.table);
        !is_it(table) && left.iter().any(is_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{ColumnSchema, OnDelete, Type};

    fn table(name: &'static str, refers_to: &[&'static str]) -> TableSchema {
        let mut builder =
            TableSchema::builder(name).column(ColumnSchema::new("id", Type::I64)).key(["id"]);
        for other in refers_to {
            let column = ColumnSchema::new(format!("{other}_id"), Type::I64);
            builder = builder.column(column.references(*other, "id", OnDelete::Restrict));
        }
        builder.build().unwrap()
    }

    #[test]
    fn referenced_tables_come_first_and_cycles_terminate() {
        let tables = vec![
            table("a", &["c", "a"]),
            table("b", &[]),
            table("c", &["d"]),
            table("d", &[]),
            table("e", &["f"]),
            table("f", &["e"]),
        ];
        let names: Vec<String> =
            by_reference(tables).iter().map(|table| table.name().to_owned()).collect();
        assert_eq!(names, ["b", "d", "c", "a", "e", "f"]);
    }
}
