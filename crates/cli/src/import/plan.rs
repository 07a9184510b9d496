//! Where each column of the file goes: into a table made for it, or into one that is there.

use crate::error::{Error, Result};
use crate::import::guess::{ColumnGuess, Nulls, wrong_count};
use crate::import::layout::Layout;
use bobak::Value;
use bobak::engine::FieldSet;
use bobak::schema::{ColumnSchema, KeyGeneration, Role, TableSchema, Type};
use bobak_text::read;
use csv::ByteRecord;

/// The table, and the way from a line to one of its rows.
#[derive(Clone, Debug)]
pub struct Plan {
    schema: TableSchema,
    fields: Vec<FieldPlan>,
    /// A row of defaults, to be filled from a line.
    blank: Vec<Value<'static>>,
}

#[derive(Clone, Debug)]
struct FieldPlan {
    name: String,
    ty: Type,
    /// The column's place in the table.
    place: usize,
    required: bool,
}

/// What the key of a new table is called where the file has none, the first that is free.
const KEY_NAMES: [&str; 3] = ["id", "row_id", "bobak_id"];

impl Plan {
    /// A new table called `name`, with the columns that the survey found.
    ///
    /// Without `key` a column is added that the engine numbers.
    ///
    /// # Errors
    /// A key that the file has not, or a table that can't be: too many columns, a bad name.
    pub fn new_table(
        name: &str,
        layout: &Layout,
        columns: &[ColumnGuess],
        key: &[String],
    ) -> Result<Self> {
        let mut table = TableSchema::builder(name.to_owned());
        if key.is_empty() {
            let taken = |name: &&str| layout.columns.iter().any(|c| c.eq_ignore_ascii_case(name));
            let Some(added) = KEY_NAMES.into_iter().find(|name| !taken(name)) else {
                return Err(Error::usage("name the table's key with --key".to_owned()));
            };
            table = table.column(ColumnSchema::new(added, Type::I64)).key([added]);
        } else {
            table = table.key(places_of(layout, key)?).given_key();
        }
        for (name, column) in layout.columns.iter().zip(columns) {
            let column = ColumnSchema::new(name.clone(), column.ty()).nullable(column.nullable());
            table = table.column(column);
        }
        Self::existing(table.build()?, layout)
    }

    /// A table that is there: the file's columns are found in it by their names.
    ///
    /// # Errors
    /// A column of the file that the table has not, or one that the table needs and the file lacks.
    pub fn existing(schema: TableSchema, layout: &Layout) -> Result<Self> {
        let mut fields = Vec::with_capacity(layout.columns.len());
        for name in &layout.columns {
            let place = schema.column(name)?;
            let Some(column) = schema.columns().get(place) else { continue };
            let (name, ty) = (name.clone(), column.ty);
            let required = !column.nullable && !fills(&schema, place);
            fields.push(FieldPlan { name, ty, place, required });
        }
        for (place, column) in schema.columns().iter().enumerate() {
            let given = fields.iter().any(|field| field.place == place);
            let has_default = column.default.is_some() || column.default_sql.is_some();
            let may_lack = column.nullable || has_default || fills(&schema, place);
            if !given && !may_lack {
                return Err(Error::failed(format!(
                    "the file lacks the column {:?}, which may not be NULL in table {}",
                    column.name,
                    schema.name()
                )));
            }
        }
        let blank =
            schema.columns().iter().map(|column| column.default.clone().unwrap_or_default());
        Ok(Self { blank: blank.collect(), fields, schema })
    }

    /// The table.
    #[must_use]
    pub const fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The table's columns that the file has.
    #[must_use]
    pub fn given(&self) -> FieldSet {
        self.fields.iter().map(|field| field.place).collect()
    }

    /// What is known of the file's columns from the table, in the order of the file.
    #[must_use]
    pub fn columns(&self) -> Vec<ColumnGuess> {
        self.fields.iter().map(|field| ColumnGuess::new(Some(field.ty), field.required)).collect()
    }

    /// The row for a line, in schema order.
    ///
    /// # Errors
    /// The reason, in words, why the line has none.
    pub fn row<'r>(&self, record: &'r ByteRecord, nulls: &Nulls) -> Result<Vec<Value<'r>>, String> {
        if record.len() != self.fields.len() {
            return Err(wrong_count(record.len(), self.fields.len()));
        }
        let mut row: Vec<Value<'r>> = self.blank.clone();
        for (field, text) in self.fields.iter().zip(record) {
            let value = if nulls.contains(text) {
                if field.required {
                    return Err(format!("column {}: NULL where none may be", field.name));
                }
                Value::Null
            } else {
                read::parse(field.ty, text)
                    .map_err(|reason| format!("column {}: {reason}", field.name))?
            };
            if let Some(slot) = row.get_mut(field.place) {
                *slot = value;
            }
        }
        Ok(row)
    }
}

/// The key's columns as the file spells them.
fn places_of(layout: &Layout, key: &[String]) -> Result<Vec<String>> {
    key.iter()
        .map(|name| {
            layout
                .columns
                .iter()
                .find(|column| column.eq_ignore_ascii_case(name))
                .cloned()
                .ok_or_else(|| {
                    Error::usage(format!(
                        "--key names the column {name:?}, and the file has {}",
                        layout.columns.join(", ")
                    ))
                })
        })
        .collect()
}

/// Whether Bobak or the engine fills the column where the file does not.
fn fills(schema: &TableSchema, place: usize) -> bool {
    let made = schema.key_generation() != KeyGeneration::Given && schema.key().contains(&place);
    made || schema.columns().get(place).is_some_and(|column| column.role != Role::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: &[&str]) -> Layout {
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        Layout { delimiter: b',', columns, has_header: true }
    }

    fn guesses(types: &[Type]) -> Vec<ColumnGuess> {
        types.iter().map(|ty| ColumnGuess::new(Some(*ty), false)).collect()
    }

    #[test]
    fn a_table_without_key_is_numbered() {
        let plan = |columns: &[&str]| {
            let types = vec![Type::I64; columns.len()];
            Plan::new_table("t", &layout(columns), &guesses(&types), &[])
        };
        let numbered = plan(&["a", "b"]).expect("plans");
        assert_eq!(numbered.schema().columns()[0].name, "id");
        let record = ByteRecord::from(vec!["1", "NA"]);
        let reason = numbered.row(&record, &Nulls::new(["NA"])).expect_err("b is required");
        assert_eq!(reason, "column b: NULL where none may be");
        assert_eq!(plan(&["ID", "b"]).expect("plans").schema().columns()[0].name, "row_id");
        assert!(plan(&["id", "row_id", "bobak_id"]).is_err());
    }

    #[test]
    fn a_key_is_given_by_the_file() {
        let layout = layout(&["Carrier", "n"]);
        let columns = guesses(&[Type::Text, Type::I64]);
        let plan = Plan::new_table("t", &layout, &columns, &["carrier".to_owned()]);
        let plan = plan.expect("plans");
        assert_eq!(plan.schema().key(), [0]);
        assert_eq!(plan.schema().key_generation(), KeyGeneration::Given);
        let error = Plan::new_table("t", &layout, &columns, &["x".to_owned()]).expect_err("no x");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn columns_of_a_table_are_found_by_name() {
        let schema = TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("a", Type::Text).default("none"))
            .column(ColumnSchema::new("b", Type::Date))
            .key(["id"])
            .build()
            .expect("a sound table");
        let plan = Plan::existing(schema.clone(), &layout(&["B"])).expect("plans");
        let record = ByteRecord::from(vec!["1970-01-02"]);
        let row = plan.row(&record, &Nulls::new([""])).expect("a row");
        assert_eq!(row, [Value::Null, Value::from("none"), Value::Int(1)]);
        assert!(Plan::existing(schema.clone(), &layout(&["b", "x"])).is_err(), "no column x");
        let error = Plan::existing(schema, &layout(&["a"])).expect_err("b is missing").to_string();
        assert!(error.contains("lacks the column \"b\""), "{error}");
    }
}
