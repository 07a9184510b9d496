//! CHECK constraints as SQL.
//!
//! The text of a constraint is parsed into a tree ([`bobak_core::check`]) and rendered from it, so
//! whatever a client or a database file holds as a constraint, the statement has exactly one CHECK,
//! over columns of its own table. Every column is computed with in its stored form (money as an
//! integer of ten-thousandths, a date as a number of days), so that a constraint means the same on
//! every server as in SQLite and in memory.
//!
//! SQLite alone also accepts a constraint that Bobak can't parse, if its tokens can't leave the
//! parentheses: SQLite runs no statement and reads no table inside a CHECK. A server would, through
//! functions.

use crate::condition::{operator, push_stored};
use crate::confined::is_confined;
use crate::dialect::Dialect;
use crate::json_part::push_part;
use crate::mysql::folded;
use crate::writer::Writer;
use bobak_core::check::{Arithmetic, CheckExpression, CheckFunction, CheckNode, ExpressionType};
use bobak_core::{Collation, ColumnSchema, ErrorKind, Storage, TableSchema, Type, Value};
use std::mem::discriminant;

/// Writes ` CHECK (…)` if the column has a constraint. The writer fails, as [`CheckExpression::parse`], if
/// the constraint can't be rendered.
pub(crate) fn push_check(writer: &mut Writer<'_>, table: &TableSchema, column: &ColumnSchema) {
    let is_required = is_required_by_check(writer.dialect, column);
    let Some(text) = &column.check else { return push_required(writer, column, is_required) };
    writer.raw(" CHECK (");
    if is_required {
        writer.name(&column.name).raw(" IS NOT NULL AND (");
    }
    match CheckExpression::parse(text, table) {
        // SQLite names the constraint in errors by its text; of one that begins with a quote, only by the first name.
        Ok(check) if writer.dialect == Dialect::Sqlite => {
            writer.raw("(");
            Renderer { writer: &mut *writer, table }.truth(check.root());
            writer.raw(")");
        }
        Ok(check) => Renderer { writer, table }.truth(check.root()),
        // A name that is no column is a mistake, not an extension of SQLite's.
        Err(error)
            if writer.dialect != Dialect::Sqlite
                || error.kind() == ErrorKind::Schema
                || !is_confined(text, table) =>
        {
            writer.fail(error.in_column(column.name.clone()));
        }
        Err(_) => {
            writer.raw(text);
        }
    }
    writer.raw(if is_required { "))" } else { ")" });
}

/// Whether a check makes the column NOT NULL: MariaDB declares no generated column so.
fn is_required_by_check(dialect: Dialect, column: &ColumnSchema) -> bool {
    dialect.is_mysql() && column.generated.is_some() && !column.nullable
}

fn push_required(writer: &mut Writer<'_>, column: &ColumnSchema, is_required: bool) {
    if is_required {
        writer.raw(" CHECK (").name(&column.name).raw(" IS NOT NULL)");
    }
}

/// Writes ` GENERATED ALWAYS AS (…)` if the column is generated: its expression, with a value of the column's SQL type.
/// SQLite computes it when it is read, since it adds no stored one to an existing table. The writer fails, as
/// [`CheckExpression::parse_value`], if the expression can't be rendered.
pub(crate) fn push_generated(writer: &mut Writer<'_>, table: &TableSchema, column: &ColumnSchema) {
    let Some(text) = &column.generated else { return };
    let checked = bobak_core::check_generated_columns(table);
    match checked.and_then(|()| CheckExpression::parse_value(text, table)) {
        Ok(expression) => push_expression(writer, table, column, &expression),
        Err(error) => writer.fail(error),
    }
}

fn push_expression(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    column: &ColumnSchema,
    expression: &CheckExpression,
) {
    writer.raw(" GENERATED ALWAYS AS (");
    let (before, after) = match (writer.dialect, column.ty) {
        (Dialect::Postgres, Type::Currency) => ("((", ")::numeric * 0.0001)::numeric(19,4)"),
        (Dialect::Postgres, Type::I64) => ("(", ")::int8"),
        (Dialect::Postgres, Type::F64) => ("(", ")::float8"),
        (Dialect::Postgres, Type::Text) => ("(", ")::text"),
        (Dialect::MariaDb | Dialect::MySql, Type::Currency) => ("(", ") * 0.0001"),
        _ => ("", ""),
    };
    writer.raw(before);
    let mut renderer = Renderer { writer: &mut *writer, table };
    match column.ty {
        Type::Bool => renderer.condition(expression.root()),
        _ => renderer.value(expression.root()),
    }
    writer.raw(after);
    writer.raw(if writer.dialect == Dialect::Sqlite { ") VIRTUAL" } else { ") STORED" });
}

/// Writes an expression over columns of a table, or a condition, that an SQLite file has: its literals are stored values.
/// `is_condition` says which. The writer fails, as [`push_check`], if it can't be rendered.
pub(crate) fn push_stored_expression(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    text: &str,
    is_condition: bool,
) {
    let parsed = match is_condition {
        true => CheckExpression::parse_stored(text, table),
        false => CheckExpression::parse_stored_value(text, table),
    };
    let is_sqlite = writer.dialect == Dialect::Sqlite;
    match parsed {
        Ok(parsed) if is_condition => Renderer { writer, table }.truth(parsed.root()),
        Ok(parsed) => {
            writer.raw("(");
            Renderer { writer: &mut *writer, table }.value(parsed.root());
            writer.raw(")");
        }
        Err(error)
            if !is_sqlite || error.kind() == ErrorKind::Schema || !is_confined(text, table) =>
        {
            writer.fail(error);
        }
        Err(_) => {
            writer.raw("(").raw(text).raw(")");
        }
    }
}

/// Renders expressions. An operand is put in parentheses unless it is a column, a literal or a call, or
/// all dialects agree on the precedence.
struct Renderer<'r, 'a> {
    writer: &'r mut Writer<'a>,
    table: &'r TableSchema,
}

impl Renderer<'_, '_> {
    fn dialect(&self) -> Dialect {
        self.writer.dialect
    }

    fn raw(&mut self, text: &str) -> &mut Self {
        self.writer.raw(text);
        self
    }

    fn ty(&self, node: &CheckNode) -> ExpressionType {
        node.ty(self.table)
    }

    /// An expression as a condition. PostgreSQL takes no number for one.
    fn truth(&mut self, node: &CheckNode) {
        if self.ty(node) == ExpressionType::Truth {
            return self.condition(node);
        }
        if self.dialect() == Dialect::Sqlite {
            return self.value(node);
        }
        self.raw("(").value(node);
        let zero = if self.ty(node) == ExpressionType::Null { ") = 0" } else { ") <> 0" };
        self.raw(zero);
    }

    fn condition(&mut self, node: &CheckNode) {
        match node {
            CheckNode::And(left, right) => self.pair(node, left, " AND ", right),
            CheckNode::Or(left, right) => self.pair(node, left, " OR ", right),
            CheckNode::Not(inner) => {
                self.raw("NOT (").truth(inner);
                self.raw(")");
            }
            CheckNode::IsNull(inner) => {
                match &**inner {
                    CheckNode::Column(position) => {
                        self.writer.column(self.table, *position);
                    }
                    inner => self.operand(inner),
                }
                self.raw(" IS NULL");
            }
            CheckNode::Is(left, right) => {
                let operator = match self.dialect() {
                    Dialect::Sqlite => " IS ",
                    Dialect::Postgres => " IS NOT DISTINCT FROM ",
                    Dialect::MariaDb | Dialect::MySql => " <=> ",
                };
                self.comparison(left, operator, right);
            }
            CheckNode::Compare(comparison, left, right) => {
                self.comparison(left, operator(*comparison), right);
            }
            CheckNode::In(inner, values) => self.member(inner, values),
            CheckNode::Like(text, pattern) => self.like(text, pattern),
            CheckNode::Call(function, arguments) => self.call(*function, arguments),
            _ => self.value(node),
        }
    }

    /// AND or OR; only another of these two in it needs parentheses.
    fn pair(&mut self, node: &CheckNode, left: &CheckNode, operator: &str, right: &CheckNode) {
        let is_pair = |node| matches!(node, &CheckNode::And(..) | &CheckNode::Or(..));
        let is_chain = discriminant(left) == discriminant(node);
        self.nested(left, is_pair(left) && !is_chain);
        self.raw(operator).nested(right, is_pair(right));
    }

    fn nested(&mut self, node: &CheckNode, parentheses: bool) {
        self.raw(if parentheses { "(" } else { "" }).truth(node);
        self.raw(if parentheses { ")" } else { "" });
    }

    fn comparison(&mut self, left: &CheckNode, operator: &str, right: &CheckNode) {
        if self.dialect() == Dialect::Sqlite || !self.is_text(left) && !self.is_text(right) {
            self.side(left);
            self.raw(operator).side(right);
            return;
        }
        let collation = self.collation(left).or_else(|| self.collation(right));
        self.collated(left, collation.unwrap_or_default());
        self.raw(operator).collated(right, collation.unwrap_or_default());
    }

    fn member(&mut self, inner: &CheckNode, values: &[CheckNode]) {
        if values.is_empty() {
            let none = self.dialect().truth(false);
            self.raw(none);
            return;
        }
        let text = self.dialect() != Dialect::Sqlite && self.is_text(inner);
        let collation = self.collation(inner).filter(|_| text).unwrap_or_default();
        if text {
            self.collated(inner, collation)
        } else {
            self.operand(inner)
        };
        self.raw(" IN (");
        for (index, value) in values.iter().enumerate() {
            self.raw(if index > 0 { ", " } else { "" });
            if text {
                self.collated(value, collation)
            } else {
                self.operand(value)
            };
        }
        self.raw(")");
    }

    /// ASCII letters in either case, and no escape.
    fn like(&mut self, text: &CheckNode, pattern: &CheckNode) {
        match self.dialect() {
            Dialect::Sqlite => {
                self.operand(text);
                self.raw(" LIKE ").operand(pattern);
            }
            Dialect::Postgres => {
                self.collated(text, Collation::NoCase);
                self.raw(" LIKE ").collated(pattern, Collation::NoCase);
                self.raw(" ESCAPE ''");
            }
            Dialect::MariaDb | Dialect::MySql => {
                self.collated(text, Collation::NoCase);
                // An escape character of its own, so that no SQL mode gives the pattern another.
                self.raw(" LIKE REPLACE(").collated(pattern, Collation::NoCase);
                self.raw(", '|', '||') ESCAPE '|'");
            }
        }
    }

    fn is_text(&self, node: &CheckNode) -> bool {
        self.ty(node) == ExpressionType::Text
    }

    fn collation(&self, node: &CheckNode) -> Option<Collation> {
        let CheckNode::Column(position) = node else { return None };
        self.table.columns().get(*position).map(|column| column.collation)
    }

    /// A text as a server compares it under a collation of Bobak's.
    fn collated(&mut self, node: &CheckNode, collation: Collation) {
        match self.dialect() {
            Dialect::Sqlite => self.operand(node),
            Dialect::Postgres => {
                let model = ColumnSchema::new("", Type::Text).collation(collation);
                let (before, after) = match collation {
                    Collation::Binary => ("(", ")::text COLLATE \"C\""),
                    _ => self.dialect().compared(&model),
                };
                self.raw(before).value(node);
                self.raw(after);
            }
            Dialect::MariaDb | Dialect::MySql => {
                let mut inner = Writer::new(self.dialect());
                Renderer { writer: &mut inner, table: self.table }.operand(node);
                let text = folded(self.dialect(), collation, &inner.into_text());
                self.raw(&text);
            }
        }
    }

    /// An expression as a side of a comparison, which binds more loosely than arithmetic everywhere.
    fn side(&mut self, node: &CheckNode) {
        match node {
            CheckNode::Arithmetic(..) | CheckNode::Concat(..) => self.value(node),
            node => self.operand(node),
        }
    }

    /// An expression as an operand: in parentheses unless it is one word.
    fn operand(&mut self, node: &CheckNode) {
        let is_atom =
            matches!(node, CheckNode::Column(_) | CheckNode::Literal(..) | CheckNode::Call(..));
        self.raw(if is_atom { "" } else { "(" }).value(node);
        self.raw(if is_atom { "" } else { ")" });
    }

    fn value(&mut self, node: &CheckNode) {
        match node {
            CheckNode::Column(position) => self.column(*position),
            CheckNode::Literal(value, _) => self.literal(value),
            CheckNode::Arithmetic(operation, left, right) => {
                self.arithmetic(*operation, left, right);
            }
            CheckNode::Concat(left, right) => match self.dialect() {
                Dialect::MariaDb | Dialect::MySql => {
                    self.raw("CONCAT(").value(left);
                    self.raw(", ").value(right);
                    self.raw(")");
                }
                Dialect::Sqlite | Dialect::Postgres => {
                    self.operand(left);
                    self.raw(" || ").operand(right);
                }
            },
            // A truth as a value is 0, 1 or NULL.
            _ if self.dialect() == Dialect::Postgres && self.ty(node) == ExpressionType::Truth => {
                self.raw("CASE (").condition(node);
                self.raw(") WHEN TRUE THEN 1 WHEN FALSE THEN 0 END");
            }
            CheckNode::Call(function, arguments) => self.call(*function, arguments),
            _ => self.condition(node),
        }
    }

    fn column(&mut self, position: usize) {
        let column = self.table.columns().get(position);
        let is_text = column.is_some_and(|column| column.storage == Storage::Text);
        let is_timestamp = column.is_some_and(|column| column.ty == Type::Timestamp);
        if self.dialect() == Dialect::Sqlite || is_text {
            self.writer.column(self.table, position);
        } else if is_timestamp && self.dialect() == Dialect::Postgres {
            // Without the time zone of the session, so that the server takes it in generated columns and indexes.
            self.raw("(extract(epoch FROM (");
            self.writer.column(self.table, position);
            self.raw(" AT TIME ZONE 'UTC')) * 1000000)::int8");
        } else {
            push_stored(self.writer, self.table, position);
        }
    }

    fn literal(&mut self, value: &Value<'_>) {
        match value {
            // Its digits alone are beyond the largest integer.
            Value::Int(i64::MIN) => {
                self.raw("(-9223372036854775807 - 1)");
            }
            value => {
                self.writer.literal(value.as_ref());
            }
        }
    }

    /// Whole numbers become decimals on servers, which overflow where SQLite continues with floats.
    /// Nothing is divided by zero: in SQLite that gives NULL.
    fn arithmetic(&mut self, operation: Arithmetic, left: &CheckNode, right: &CheckNode) {
        let is_float = [left, right].iter().any(|node| self.ty(node) == ExpressionType::Float);
        let divides = matches!(operation, Arithmetic::Divide | Arithmetic::Remainder);
        let (before, after, symbol) = match (self.dialect(), operation, is_float) {
            (Dialect::Sqlite, ..) => ("", "", operation.operator()),
            (Dialect::Postgres, Arithmetic::Divide, false) => ("trunc(", ")", "/"),
            (Dialect::MariaDb | Dialect::MySql, Arithmetic::Divide, false) => ("", "", "DIV"),
            (_, operation, _) => ("", "", operation.operator()),
        };
        self.raw(before);
        let whole = operation == Arithmetic::Remainder;
        self.number(left, is_float, whole);
        self.raw(&format!(" {symbol} "));
        if divides && self.dialect() != Dialect::Sqlite {
            self.raw("NULLIF(");
            self.number(right, is_float, whole);
            self.raw(", 0)");
        } else {
            self.number(right, is_float, whole);
        }
        self.raw(after);
    }

    fn number(&mut self, node: &CheckNode, is_float: bool, whole: bool) {
        let (before, after) = match (self.dialect(), is_float) {
            (Dialect::Sqlite, _) => {
                self.operand(node);
                return;
            }
            (Dialect::Postgres, true) if whole => ("trunc((", ")::numeric)"),
            (Dialect::Postgres, true) => ("(", ")::float8"),
            (Dialect::Postgres, false) => ("(", ")::numeric"),
            (Dialect::MariaDb | Dialect::MySql, true) if whole => ("TRUNCATE(", ", 0)"),
            (Dialect::MariaDb | Dialect::MySql, true) => ("(", ")"),
            (Dialect::MariaDb | Dialect::MySql, false) => ("CAST(", " AS DECIMAL(65, 0))"),
        };
        self.raw(before).value(node);
        self.raw(after);
    }

    fn call(&mut self, function: CheckFunction, arguments: &[CheckNode]) {
        let dialect = self.dialect();
        match (function, arguments) {
            (CheckFunction::NullIf, [first, second]) if dialect != Dialect::Sqlite => {
                self.raw("CASE WHEN ").comparison(first, " = ", second);
                self.raw(" THEN NULL ELSE ").operand(first);
                self.raw(" END");
            }
            (CheckFunction::Iif, [condition, first, second]) if dialect != Dialect::Sqlite => {
                self.raw("CASE WHEN ").truth(condition);
                self.raw(" THEN ").value(first);
                self.raw(" ELSE ").value(second);
                self.raw(" END");
            }
            (CheckFunction::Lower, [text]) if dialect != Dialect::Sqlite => {
                self.collated(text, Collation::NoCase);
            }
            (CheckFunction::Upper, [text]) if dialect == Dialect::Postgres => {
                self.raw("upper((").value(text);
                self.raw(")::text COLLATE \"C\")");
            }
            (CheckFunction::Upper, [text]) if dialect != Dialect::Sqlite => {
                let mut inner = Writer::new(dialect);
                Renderer { writer: &mut inner, table: self.table }.operand(text);
                let upper = ('a'..='z').fold(inner.into_text(), |inner, letter| {
                    format!("REPLACE({inner}, '{letter}', '{}')", letter.to_ascii_uppercase())
                });
                self.raw(&upper);
            }
            (function, [CheckNode::Column(place), CheckNode::Literal(Value::Text(path), _)])
                if function.json_function().is_some() =>
            {
                push_part(self.writer, self.table, function, *place, path);
            }
            (function, arguments) => {
                let is_bytes =
                    arguments.first().is_some_and(|node| self.ty(node) == ExpressionType::Bytes);
                self.raw(name(dialect, function, is_bytes)).raw("(");
                for (index, argument) in arguments.iter().enumerate() {
                    self.raw(if index > 0 { ", " } else { "" }).value(argument);
                }
                let is_trim = function == CheckFunction::Trim && dialect == Dialect::Postgres;
                self.raw(if is_trim { ", ' ')" } else { ")" });
            }
        }
    }
}

fn name(dialect: Dialect, function: CheckFunction, is_bytes: bool) -> &'static str {
    match (dialect, function) {
        (Dialect::Postgres, CheckFunction::Length) if is_bytes => "octet_length",
        (Dialect::MariaDb | Dialect::MySql, CheckFunction::Length) if !is_bytes => "char_length",
        (Dialect::Postgres, CheckFunction::Trim) => "btrim",
        (_, function) => function.name(),
    }
}
