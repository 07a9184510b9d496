//! Maps the columns of the file to those of a new or an existing table.

use crate::error::{Error, Result};
use crate::import::csv_format::CsvFormat;
use crate::import::csv_reader::JSON_NULL;
use crate::import::infer::{self, InferredColumn, NullTexts, wrong_count};
use bobak::Value;
use bobak::engine::FieldSet;
use bobak::schema::{ColumnRole, ColumnSchema, KeyGeneration, TableSchema, Type};
use csv::ByteRecord;

/// The table, and the mapping from a line to a row.
#[derive(Clone, Debug)]
pub struct ImportPlan {
    schema: TableSchema,
    fields: Vec<TargetColumn>,
    /// A row with the defaults of all columns.
    defaults: Vec<Value<'static>>,
}

#[derive(Clone, Debug)]
struct TargetColumn {
    name: String,
    ty: Type,
    /// The column's index in the table.
    index: usize,
    required: bool,
}

/// Names for the generated key of a new table; the first unused one is taken.
const KEY_NAMES: [&str; 3] = ["id", "row_id", "bobak_id"];

impl ImportPlan {
    /// Plans a new table called `name` with the inferred columns.
    ///
    /// Without `key`, a column `id` whose values are unique is the key; if there is none, a column with a generated
    /// key is added.
    ///
    /// # Errors
    /// If the file lacks a key column, or the table is invalid: too many columns, an invalid name.
    pub fn new_table(
        name: &str,
        layout: &CsvFormat,
        columns: &[InferredColumn],
        key: &[String],
    ) -> Result<Self> {
        let mut table = TableSchema::builder(name.to_owned());
        let own = layout.columns.iter().zip(columns);
        let own = own.into_iter().find(|(name, column)| is_key_name(name) && column.is_unique());
        if let (Some((name, column)), []) = (own, key) {
            table = table.key([name.clone()]);
            if column.ty() != Type::I64 || column.has_zero() {
                table = table.given_key();
            }
        } else if key.is_empty() {
            let taken = |name: &&str| layout.columns.iter().any(|c| c.eq_ignore_ascii_case(name));
            let Some(added) = KEY_NAMES.into_iter().find(|name| !taken(name)) else {
                return Err(Error::usage("name the table's primary key with --key".to_owned()));
            };
            table = table.column(ColumnSchema::new(added, Type::I64)).key([added]);
        } else {
            table = table.key(key_columns(layout, key)?).given_key();
        }
        for (name, column) in layout.columns.iter().zip(columns) {
            let column = ColumnSchema::new(name.clone(), column.ty()).nullable(column.nullable());
            table = table.column(column);
        }
        Self::existing(table.build()?, layout)
    }

    /// Plans appending to an existing table; columns are matched by name.
    ///
    /// # Errors
    /// If the table lacks a column of the file, or the file lacks a required column of the table.
    pub fn existing(schema: TableSchema, layout: &CsvFormat) -> Result<Self> {
        let mut fields = Vec::with_capacity(layout.columns.len());
        for name in &layout.columns {
            let index = schema.column(name)?;
            let Some(column) = schema.columns().get(index) else { continue };
            let (name, ty) = (name.clone(), column.ty);
            let required = !column.nullable && !is_generated(&schema, index);
            fields.push(TargetColumn { name, ty, index, required });
        }
        for (index, column) in schema.columns().iter().enumerate() {
            let given = fields.iter().any(|field| field.index == index);
            let has_default = column.default.is_some() || column.default_sql.is_some();
            let may_lack = column.nullable || has_default || is_generated(&schema, index);
            if !given && !may_lack {
                return Err(Error::failed(format!(
                    "the file lacks the column {:?}, which may not be NULL in table {}",
                    column.name,
                    schema.name()
                )));
            }
        }
        let defaults =
            schema.columns().iter().map(|column| column.default.clone().unwrap_or_default());
        Ok(Self { defaults: defaults.collect(), fields, schema })
    }

    /// The table.
    #[must_use]
    pub const fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The table's columns that the file provides.
    #[must_use]
    pub fn given(&self) -> FieldSet {
        self.fields.iter().map(|field| field.index).collect()
    }

    /// The types that the table sets for the columns, in the file's order.
    #[must_use]
    pub fn columns(&self) -> Vec<InferredColumn> {
        self.fields
            .iter()
            .map(|field| InferredColumn::new(Some(field.ty), field.required))
            .collect()
    }

    /// The row for a line, in schema order.
    ///
    /// # Errors
    /// The reason, in words, why the line has none.
    pub fn row<'r>(
        &self,
        record: &'r ByteRecord,
        nulls: &NullTexts,
    ) -> Result<Vec<Value<'r>>, String> {
        if record.len() != self.fields.len() {
            return Err(wrong_count(record.len(), self.fields.len()));
        }
        let mut row: Vec<Value<'r>> = self.defaults.clone();
        for (field, text) in self.fields.iter().zip(record) {
            let value = if nulls.contains(text) {
                // JSON has one word for NULL and for its document.
                match text == JSON_NULL && field.required && field.ty == Type::Json {
                    true => Value::from("null"),
                    false => Value::Null,
                }
            } else {
                infer::value(field.ty, text)
                    .map_err(|reason| format!("column {}: {reason}", field.name))?
            };
            if value.is_null() && field.required {
                return Err(format!("column {}: NULL is not allowed", field.name));
            }
            if let Some(slot) = row.get_mut(field.index) {
                *slot = value;
            }
        }
        Ok(row)
    }
}

/// Whether a column with this name becomes the key if its values are unique.
#[must_use]
pub fn is_key_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("id")
}

/// The key columns as the file spells them.
fn key_columns(layout: &CsvFormat, key: &[String]) -> Result<Vec<String>> {
    key.iter()
        .map(|name| {
            layout
                .columns
                .iter()
                .find(|column| column.eq_ignore_ascii_case(name))
                .cloned()
                .ok_or_else(|| {
                    Error::usage(format!(
                        "--key names the column {name:?}, but the file has {}",
                        layout.columns.join(", ")
                    ))
                })
        })
        .collect()
}

/// Whether Bobak or the engine generates the column's value if the file lacks it.
fn is_generated(schema: &TableSchema, index: usize) -> bool {
    let made = schema.key_generation() != KeyGeneration::Given && schema.key().contains(&index);
    let is_filled =
        |column: &ColumnSchema| column.role != ColumnRole::Plain || column.generated.is_some();
    made || schema.columns().get(index).is_some_and(is_filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: &[&str]) -> CsvFormat {
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        CsvFormat { delimiter: b',', columns, has_header: true, types: Vec::new() }
    }

    fn inferred(types: &[Type]) -> Vec<InferredColumn> {
        types.iter().map(|ty| InferredColumn::new(Some(*ty), false)).collect()
    }

    #[test]
    fn table_without_key_gets_generated_key() {
        let plan = |columns: &[&str]| {
            let types = vec![Type::I64; columns.len()];
            ImportPlan::new_table("t", &layout(columns), &inferred(&types), &[])
        };
        let numbered = plan(&["a", "b"]).expect("plans");
        assert_eq!(numbered.schema().columns()[0].name, "id");
        let record = ByteRecord::from(vec!["1", "NA"]);
        let reason = numbered.row(&record, &NullTexts::new(["NA"])).expect_err("b is required");
        assert_eq!(reason, "column b: NULL is not allowed");
        assert_eq!(plan(&["ID", "b"]).expect("plans").schema().columns()[0].name, "row_id");
        assert!(plan(&["id", "row_id", "bobak_id"]).is_err());
    }

    #[test]
    fn key_column_comes_from_file() {
        let layout = layout(&["Carrier", "n"]);
        let columns = inferred(&[Type::Text, Type::I64]);
        let plan = ImportPlan::new_table("t", &layout, &columns, &["carrier".to_owned()]);
        let plan = plan.expect("plans");
        assert_eq!(plan.schema().key(), [0]);
        assert_eq!(plan.schema().key_generation(), KeyGeneration::Given);
        let error =
            ImportPlan::new_table("t", &layout, &columns, &["x".to_owned()]).expect_err("no x");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn columns_are_matched_by_name() {
        let schema = TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("a", Type::Text).default("none"))
            .column(ColumnSchema::new("b", Type::Date))
            .key(["id"])
            .build()
            .expect("a valid table");
        let plan = ImportPlan::existing(schema.clone(), &layout(&["B"])).expect("plans");
        let record = ByteRecord::from(vec!["1970-01-02"]);
        let row = plan.row(&record, &NullTexts::new([""])).expect("a row");
        assert_eq!(row, [Value::Null, Value::from("none"), Value::Int(1)]);
        assert!(ImportPlan::existing(schema.clone(), &layout(&["b", "x"])).is_err(), "no column x");
        let error =
            ImportPlan::existing(schema, &layout(&["a"])).expect_err("b is missing").to_string();
        assert!(error.contains("lacks the column \"b\""), "{error}");
    }
}
