//! Parts of JSON documents.

use super::JoinWriter;
use crate::Dialect;
use crate::json_part::{postgres_document, postgres_part};
use bobak_core::check::CheckFunction;
use bobak_core::join::{JoinColumn, JoinExpr, JoinFunction};
use bobak_core::{JsonPath, Type, Value, ValueRef};

impl<'a> JoinWriter<'a> {
    /// A part of a JSON document: by functions of Bobak's own in SQLite, and by those of the server in PostgreSQL. Those of
    /// MariaDB have another meaning: they find no name that the document spells with an escape, of two members with one name
    /// the first, and nothing in a text that is no document.
    pub(super) fn push_json(&mut self, function: JoinFunction, arguments: &'a [JoinExpr]) {
        match self.dialect() {
            Dialect::Sqlite => self.push_sqlite_json(function, arguments),
            Dialect::Postgres => {
                let written = self.push_postgres_json(function, arguments);
                self.require(written.is_some());
            }
            Dialect::MariaDb | Dialect::MySql => self.require(false),
        }
    }

    fn push_sqlite_json(&mut self, function: JoinFunction, arguments: &'a [JoinExpr]) {
        self.raw(match function {
            JoinFunction::JsonText => "bobak_json_text(",
            JoinFunction::JsonInteger => "bobak_json_integer(",
            JoinFunction::JsonFloat => "bobak_json_float(",
            JoinFunction::JsonTruth => "bobak_json_truth(",
            JoinFunction::JsonLength => "bobak_json_length(",
            JoinFunction::JsonHas => "bobak_json_has(",
            JoinFunction::JsonWith => "bobak_json_with(",
            _ => return self.require(false),
        });
        self.list(", ", arguments, |writer, argument| match argument {
            JoinExpr::Column(column) => {
                writer.comparable(*column);
                writer.push_column(*column);
            }
            JoinExpr::Value(text, _) => {
                writer.writer.value(text.as_ref());
            }
            JoinExpr::Function(JoinFunction::JsonWith, inner) => {
                writer.push_json(JoinFunction::JsonWith, inner);
            }
            _ => writer.require(false),
        });
        self.raw(")");
    }

    /// The path is a part of the text: it is there several times, and groups need it.
    fn push_postgres_json(
        &mut self,
        function: JoinFunction,
        arguments: &'a [JoinExpr],
    ) -> Option<()> {
        let [JoinExpr::Column(column), JoinExpr::Value(Value::Text(path), _), values @ ..] =
            arguments
        else {
            return None;
        };
        let path = JsonPath::parse(path).ok().filter(|_| !path.contains('\0'))?;
        let part = postgres_document(&self.document(*column)?, &path);
        if function == JoinFunction::JsonHas {
            let [JoinExpr::Value(Value::Text(element), _)] = values else { return None };
            return self.push_postgres_element(&part, element);
        }
        let function = CheckFunction::of_json_function(function)?;
        self.raw(&postgres_part(function, &part));
        // As all truth values of expressions: a number.
        self.raw(if function == CheckFunction::JsonTruth { "::int4::int8" } else { "" });
        Some(())
    }

    /// The name of a column of documents.
    fn document(&mut self, column: JoinColumn) -> Option<String> {
        let schema = self.comparable(column).filter(|column| column.ty == Type::Json)?;
        let is_stored = !self.is_of_rows(column);
        is_stored.then(|| self.writer.quoted_column_of(column.table, &schema.name))
    }

    /// Whether an array has an element: a text, an integer, a truth value or NULL, which a document spells in one way. A
    /// text is compared without its escapes.
    fn push_postgres_element(&mut self, array: &str, element: &'a str) -> Option<()> {
        let is_text = element.starts_with('"') && !element.contains("\\u0000");
        let is_integer = element.parse::<i64>().is_ok_and(|integer| integer.to_string() == element)
            || element.parse::<u64>().is_ok_and(|integer| integer.to_string() == element);
        let is_word = matches!(element, "true" | "false" | "null");
        if !is_text && !is_integer && !is_word {
            return None;
        }
        self.raw(&format!(
            "(CASE json_typeof({array}) WHEN 'array' THEN (EXISTS (SELECT 1 FROM \
             json_array_elements({array}) AS e (value) WHERE "
        ));
        self.raw(match is_text {
            true => "json_typeof(e.value) = 'string' AND (e.value #>> '{}') COLLATE \"C\" = (",
            false => "e.value::text COLLATE \"C\" = (",
        });
        self.writer.value(ValueRef::Text(element));
        self.raw(if is_text { "::json #>> '{}')" } else { "::text)" });
        self.raw("))::int4::int8 END)");
        Some(())
    }
}
