//! Generated columns: what their expressions may be.
//!
//! The rules are those that all engines share. They keep an expression exact: it has the type of its column, so that no
//! engine converts or rounds its value, and it depends on nothing that changes without a write of the row.

use crate::check::{Arithmetic, CheckExpression, CheckNode, ExpressionType, walk};
use crate::{
    Collation, ColumnRole, ColumnSchema, Error, ErrorKind, ForeignKey, KeyGeneration, OnDelete,
    OnUpdate, Result, TableSchema, Type,
};

/// Checks the generated columns of a table: their expressions, and the rules that go with them.
///
/// # Errors
/// `Schema` for an expression of another type than its column's, or with a column that the engine makes; `Unsupported` for
/// what the [grammar](crate::check) does not have.
pub fn check_generated_columns(table: &TableSchema) -> Result<()> {
    for (place, column) in table.columns().iter().enumerate() {
        let Some(text) = &column.generated else { continue };
        check_rules(table, place, column)
            .and_then(|()| check_expression(table, column, text))
            .map_err(|error| error.in_table(table.name()).in_column(column.name.clone()))?;
    }
    Ok(())
}

impl ColumnSchema {
    /// The expression of a generated column in its canonical spelling: expressions with the same text have the same
    /// meaning.
    #[must_use]
    pub fn generated_text(&self, table: &TableSchema) -> Option<String> {
        let text = self.generated.as_deref()?;
        let parsed = CheckExpression::parse_value(text, table);
        Some(parsed.map_or_else(|_| text.to_owned(), |parsed| parsed.to_text(table)))
    }
}

fn reject(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Schema, message.into())
}

/// Rejects rules that do not go with a computed value.
fn check_rules(table: &TableSchema, place: usize, column: &ColumnSchema) -> Result<()> {
    let in_foreign_key = table.foreign_keys().iter().any(|key| key.columns.contains(&place));
    let wrong = if table.is_view() {
        Some("the columns of a view are all read-only: remove the expression")
    } else if table.key().contains(&place) {
        Some("a generated column cannot be in the key")
    } else if column.default.is_some() || column.default_sql.is_some() {
        Some("a generated column has no default")
    } else if column.role != ColumnRole::Plain {
        Some("Bobak fills this column already: it cannot be generated too")
    } else if column.reference.is_some() || in_foreign_key {
        Some("a generated column cannot be a foreign key")
    } else if column.max_chars.is_some() || column.is_kept_as_text() {
        Some(
            "a generated column has the type of its expression: remove its limit and its text form",
        )
    } else if column.collation != Collation::Binary {
        Some("a generated text compares by its bytes: remove the collation")
    } else {
        None
    };
    wrong.map_or(Ok(()), |message| Err(reject(message)))
}

fn check_expression(table: &TableSchema, column: &ColumnSchema, text: &str) -> Result<()> {
    let expression = CheckExpression::parse_value(text, table)?;
    for base in expression.columns() {
        check_base(table, base)?;
    }
    let mut rounds = false;
    walk(expression.root(), &mut |node| rounds |= may_round(table, node));
    if rounds {
        return Err(reject(
            "amounts are multiplied by whole numbers here: engines round differently",
        ));
    }
    let found = expression.root().ty(table);
    let Some(ty) = stored_type(found) else {
        let message = "the expression has no type that a generated column can have: it must be a whole number, a \
                       float, an amount, a condition, a text or bytes";
        return Err(reject(message));
    };
    if ty != column.ty {
        let message = format!(
            "the expression is of type {}, and the column of type {}",
            ty.name(),
            column.ty.name()
        );
        return Err(reject(message));
    }
    Ok(())
}

/// Rejects a column whose value is not known when the row is written, or that changes without a write.
fn check_base(table: &TableSchema, place: usize) -> Result<()> {
    let makes_key = table.key_generation() == KeyGeneration::Engine && table.key() == [place];
    let is_changed = |key: &ForeignKey| {
        key.columns.contains(&place)
            && (key.on_delete == OnDelete::SetNull
                || matches!(key.on_update, OnUpdate::SetNull | OnUpdate::Cascade))
    };
    let name = table.columns().get(place).map_or("", |column| &*column.name);
    let message = if table.is_generated(place) {
        format!(
            "the expression names '{name}', which is generated itself: write its expression instead"
        )
    } else if makes_key {
        format!("the expression names '{name}', the key that the engine makes")
    } else if table.all_foreign_keys().iter().any(is_changed) {
        format!("the expression names '{name}', which a foreign key changes")
    } else {
        return Ok(());
    };
    Err(reject(message))
}

/// Whether engines would round its value differently.
fn may_round(table: &TableSchema, node: &CheckNode) -> bool {
    let CheckNode::Arithmetic(operation, left, right) = node else { return false };
    let has = |ty| left.ty(table) == ty || right.ty(table) == ty;
    let float = has(ExpressionType::Float);
    float && (has(ExpressionType::Amount) || *operation == Arithmetic::Remainder)
}

/// The type of a column with the values of an expression.
const fn stored_type(ty: ExpressionType) -> Option<Type> {
    match ty {
        ExpressionType::Truth => Some(Type::Bool),
        ExpressionType::Integer => Some(Type::I64),
        ExpressionType::Float => Some(Type::F64),
        ExpressionType::Amount => Some(Type::Currency),
        ExpressionType::Text => Some(Type::Text),
        ExpressionType::Bytes => Some(Type::Bytes),
        ExpressionType::Null | ExpressionType::Any | ExpressionType::Moment(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Currency, Timestamp};

    fn build(column: ColumnSchema) -> Result<TableSchema> {
        TableSchema::builder("line")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Currency>("price"))
            .column(ColumnSchema::of::<i32>("quantity"))
            .column(ColumnSchema::of::<f64>("rate"))
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::of::<Option<Timestamp>>("paid"))
            .column(ColumnSchema::of::<Option<i64>>("boss").references(
                "line",
                "id",
                OnDelete::SetNull,
            ))
            .column(ColumnSchema::of::<i64>("twice").generated("quantity * 2"))
            .column(column)
            .key(["id"])
            .build()
            .and_then(|table| check_generated_columns(&table).map(|()| table))
    }

    #[test]
    fn expressions_have_the_type_of_their_column() {
        for (ty, text) in [
            (Type::Currency, "price * quantity"),
            (Type::I64, "quantity + 1"),
            (Type::F64, "rate * quantity"),
            (Type::Bool, "paid is not null"),
            (Type::Text, "lower(name) || '!'"),
        ] {
            let table = build(ColumnSchema::new("made", ty).generated(text)).unwrap();
            assert!(table.is_generated(8) && !table.updated_fields().contains(8), "{text}");
            assert_eq!(table.written_columns().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
            assert_eq!(table.check_assigned(8).unwrap_err().kind(), ErrorKind::Misuse);
            table.check_assigned(1).unwrap();
            let renamed = table.rename("line", |name| (name == "quantity").then_some("pieces"));
            assert!(renamed.unwrap().is_generated(8));
        }
    }

    #[test]
    fn what_engines_compute_differently_is_rejected() {
        for (ty, text) in [
            (Type::I32, "quantity + 1"),
            (Type::Currency, "quantity * 2"),
            (Type::Currency, "price * 1.5"),
            (Type::I64, "rate % 2"),
            (Type::I64, "id + 1"),
            (Type::I64, "boss + 1"),
            (Type::I64, "twice + 1"),
            (Type::I64, "made + 1"),
            (Type::Timestamp, "paid"),
            (Type::I64, "null"),
        ] {
            let error = build(ColumnSchema::new("made", ty).generated(text)).unwrap_err();
            assert_eq!((error.kind(), error.column()), (ErrorKind::Schema, Some("made")), "{text}");
        }
        let made = || ColumnSchema::new("made", Type::Text).generated("name || ''");
        for column in [
            made().max_chars(9),
            made().default("x"),
            made().collation(Collation::NoCase),
            made().references("line", "name", OnDelete::Restrict),
        ] {
            assert_eq!(build(column).unwrap_err().kind(), ErrorKind::Schema);
        }
        for text in ["random()", "now()", "name glob 'x'"] {
            let error = build(made().generated(text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
        }
    }
}
