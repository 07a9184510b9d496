//! Defaults and CHECKs of tables that other programs created, from MariaDB's spelling to Bobak's.
//!
//! Whatever could mean something else in Bobak is rejected: texts of a collation that ignores case or blanks
//! at the end, the order and the patterns of texts, functions of letters, `/`, which MariaDB computes with
//! decimals, and instants, which depend on the time zone of a session.

use bobak_core::check::{Arithmetic, CheckExpression, CheckFunction, CheckNode, ExpressionType};
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer, number};
use bobak_core::{
    ColumnSchema, Comparison, Currency, Storage, TableSchema, Type, Value, stored_literal,
};
use std::borrow::Cow;

/// A column, and its type and collation as `information_schema` writes them.
#[derive(Clone, Copy)]
pub(super) struct MariaDbColumn<'a> {
    pub schema: &'a ColumnSchema,
    pub sql_type: &'a str,
    pub collation: &'a str,
}

const SYNTAX: SqlSyntax = SqlSyntax::MySql { backslash_escapes: true };

/// The column of a CHECK that is `json_valid(column)` alone: the one that MariaDB adds to a JSON column.
pub(super) fn json_column(clause: &str) -> Option<Cow<'_, str>> {
    let tokens: Vec<_> = SqlTokenizer::new(SYNTAX, clause).significant().collect();
    match &tokens[..] {
        [function, open, column, close]
            if function.is_word("json_valid")
                && open.is_operator("(")
                && close.is_operator(")") =>
        {
            column.name()
        }
        _ => None,
    }
}

/// The value of a constant default, from `COLUMN_DEFAULT`; `None` for any other expression.
pub(super) fn default(expression: &str, column: MariaDbColumn<'_>) -> Option<Value<'static>> {
    let MariaDbColumn { schema, sql_type, .. } = column;
    let mut tokens = SqlTokenizer::new(SYNTAX, expression).significant();
    let is_negative = tokens.clone().next()?.is_operator("-");
    if is_negative {
        tokens.next();
    }
    let token = tokens.next().filter(|token| token.is_terminated)?;
    tokens.next().is_none().then_some(())?;
    let value = match token.kind {
        SqlTokenKind::Number => {
            let text = format!("{}{}", if is_negative { "-" } else { "" }, token.text);
            match schema.storage {
                Storage::Int if schema.ty == Type::Currency => {
                    Value::Int(text.parse::<Currency>().ok()?.scaled())
                }
                Storage::Int | Storage::Float => number(&text)?,
                _ => return None,
            }
        }
        SqlTokenKind::Text if !is_negative => {
            let text = string(&token)?;
            // The server removes blanks at the end of a CHAR.
            let is_padded = sql_type.starts_with("char(") && text.ends_with(' ');
            match schema.ty {
                Type::Text | Type::Json if !is_padded => text.into(),
                ty @ (Type::Date | Type::Time | Type::DateTime) => {
                    stored_literal(ty, &text).ok()?
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    schema.accept(value).ok()
}

/// A CHECK, from `CHECK_CLAUSE`; `None` for one that Bobak cannot express.
pub(super) fn check(
    clause: &str,
    table: &TableSchema,
    columns: &[MariaDbColumn<'_>],
) -> Option<CheckExpression> {
    let check = CheckExpression::parse(&respell(clause)?, table).ok()?;
    let comparable = Comparable { table, columns };
    comparable.is_same(check.root()).then_some(())?;
    // A date is spelled in one way only.
    let tokens = || SqlTokenizer::new(SYNTAX, clause).filter(|t| t.kind == SqlTokenKind::Text);
    for position in check.columns() {
        let ty = table.column_at(position).ok()?.ty;
        let is_spelled =
            |token: SqlToken<'_>| string(&token).is_some_and(|t| stored_literal(ty, &t).is_ok());
        if ty.has_text_form() && !tokens().all(is_spelled) {
            return None;
        }
    }
    Some(check)
}

/// The content of a string; `None` for one with an escape of another character than a quote or a backslash.
fn string(token: &SqlToken<'_>) -> Option<String> {
    let text = token.unquoted();
    let mut content = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        content.push(match character {
            '\\' => characters.next().filter(|c| matches!(c, '\\' | '\'' | '"'))?,
            other => other,
        });
    }
    Some(content)
}

/// The clause in the spelling of CHECKs.
fn respell(clause: &str) -> Option<String> {
    let tokens: Vec<_> = SqlTokenizer::new(SYNTAX, clause).significant().collect();
    let mut text = String::new();
    for (place, token) in tokens.iter().enumerate() {
        token.is_terminated.then_some(())?;
        let next = tokens.get(place + 1);
        match token.kind {
            SqlTokenKind::QuotedName => {
                text.push_str(&format!("\"{}\"", token.unquoted().replace('"', "\"\"")));
            }
            SqlTokenKind::Text => {
                text.push_str(&format!("'{}'", string(token)?.replace('\'', "''")));
            }
            SqlTokenKind::Number => text.push_str(token.text),
            SqlTokenKind::Word => text.push_str(word(token, next)?),
            // `!` binds tighter than NOT.
            SqlTokenKind::Operator if token.text == "!" => {
                is_whole_operand(tokens.get(place + 1..)?).then_some(())?;
                text.push_str("NOT");
            }
            SqlTokenKind::Operator if !matches!(token.text, "||" | "==" | "!=" | "/") => {
                text.push_str(token.text);
            }
            _ => return None,
        }
        text.push(' ');
    }
    Some(text)
}

/// A keyword or the name of a function, as CHECKs spell it.
fn word<'a>(token: &SqlToken<'a>, next: Option<&SqlToken<'_>>) -> Option<&'a str> {
    const KEYWORDS: [&str; 9] =
        ["and", "or", "not", "in", "between", "is", "null", "true", "false"];
    const FUNCTIONS: [&str; 4] = ["abs", "coalesce", "ifnull", "nullif"];
    let is_call = next.is_some_and(|next| next.is_operator("("));
    let is_in = |words: &[&str]| words.iter().any(|word| token.is_word(word));
    match () {
        () if is_in(&KEYWORDS) || (is_call && is_in(&FUNCTIONS)) => Some(token.text),
        () if is_call && is_in(&["char_length", "character_length"]) => Some("length"),
        // The character set of a string.
        () if token.text.starts_with("_utf8") => {
            next.filter(|next| next.kind == SqlTokenKind::Text).map(|_| "")
        }
        () => None,
    }
}

/// Whether the tokens start with an expression in parentheses that is a whole operand of AND or OR.
fn is_whole_operand(tokens: &[SqlToken<'_>]) -> bool {
    let mut depth = 0_i32;
    for (place, token) in tokens.iter().enumerate() {
        depth += i32::from(token.is_operator("(")) - i32::from(token.is_operator(")"));
        if depth == 0 {
            let next = tokens.get(place + 1);
            let ends = |next: &SqlToken<'_>| {
                next.is_word("and") || next.is_word("or") || next.is_operator(")")
            };
            return place > 0 && next.is_none_or(ends);
        }
    }
    false
}

/// Decides whether an expression has the same result in Bobak.
struct Comparable<'a> {
    table: &'a TableSchema,
    columns: &'a [MariaDbColumn<'a>],
}

impl Comparable<'_> {
    fn is_same(&self, node: &CheckNode) -> bool {
        match node {
            CheckNode::Column(position) => {
                let sql_type = self.column(*position).map_or("", |column| column.sql_type);
                // A FLOAT is compared with more digits than it is read with.
                !sql_type.starts_with("float")
            }
            CheckNode::Literal(_, ty) => *ty != Some(Type::Timestamp),
            CheckNode::And(left, right) | CheckNode::Or(left, right) => {
                self.is_same(left) && self.is_same(right)
            }
            CheckNode::Not(inner) | CheckNode::IsNull(inner) => self.is_same(inner),
            CheckNode::Compare(comparison, left, right) => {
                let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
                self.are_comparable(left, right, is_equality)
            }
            CheckNode::In(value, members) => {
                members.iter().all(|member| self.are_comparable(value, member, true))
            }
            CheckNode::Arithmetic(operation, left, right) => {
                self.is_exact(*operation, left, right) && self.is_same(left) && self.is_same(right)
            }
            CheckNode::Call(function, arguments) => {
                let of_text = arguments.iter().any(|node| self.ty(node) == ExpressionType::Text);
                (*function == CheckFunction::Length) == of_text
                    && arguments.iter().all(|argument| self.is_same(argument))
            }
            CheckNode::Is(..) | CheckNode::Like(..) | CheckNode::Concat(..) => false,
        }
    }

    fn are_comparable(&self, left: &CheckNode, right: &CheckNode, is_equality: bool) -> bool {
        let both = [left, right];
        let is_plain = |node: &&CheckNode| self.ty(node) != ExpressionType::Truth;
        let is_text = both.iter().any(|node| self.ty(node) == ExpressionType::Text);
        let is_exact = |node: &&CheckNode| match node {
            CheckNode::Column(position) => {
                let collation = self.column(*position).map_or("", |column| column.collation);
                collation.ends_with("nopad_bin")
            }
            CheckNode::Literal(..) => true,
            _ => false,
        };
        both.iter().all(is_plain)
            && (!is_text || (is_equality && both.iter().all(is_exact)))
            && both.iter().all(|node| self.is_same(node))
    }

    /// Sums and products of integers with a sign, sums of money, and remainders of a literal.
    fn is_exact(&self, operation: Arithmetic, left: &CheckNode, right: &CheckNode) -> bool {
        let unsigned = |node: &CheckNode| {
            let column = match node {
                CheckNode::Column(position) => self.column(*position),
                _ => None,
            };
            column.is_some_and(|column| column.sql_type.contains("unsigned"))
        };
        let types = (self.ty(left), self.ty(right));
        let is_money = types == (ExpressionType::Amount, ExpressionType::Amount);
        let is_whole = types == (ExpressionType::Integer, ExpressionType::Integer);
        match operation {
            Arithmetic::Add | Arithmetic::Subtract => {
                (is_whole || is_money) && !unsigned(left) && !unsigned(right)
            }
            Arithmetic::Multiply => is_whole && !unsigned(left) && !unsigned(right),
            Arithmetic::Remainder => {
                is_whole && matches!(right, CheckNode::Literal(Value::Int(1..), None))
            }
            Arithmetic::Divide => false,
        }
    }

    fn ty(&self, node: &CheckNode) -> ExpressionType {
        node.ty(self.table)
    }

    fn column(&self, position: usize) -> Option<&MariaDbColumn<'_>> {
        let name = &self.table.columns().get(position)?.name;
        self.columns.iter().find(|column| column.schema.name == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[(&str, &str, &str, Type)] = &[
        ("id", "bigint(20)", "", Type::I64),
        ("n", "int(11)", "", Type::I32),
        ("u", "int(10) unsigned", "", Type::U32),
        ("name", "varchar(20)", "utf8mb4_general_ci", Type::Text),
        ("code", "varchar(3)", "utf8mb4_nopad_bin", Type::Text),
        ("fixed", "char(3)", "utf8mb4_general_ci", Type::Text),
        ("price", "decimal(10,2)", "", Type::Currency),
        ("rate", "double", "", Type::F64),
        ("part", "float", "", Type::F64),
        ("ok", "tinyint(1)", "", Type::Bool),
        ("day", "date", "", Type::Date),
        ("at", "timestamp", "", Type::Timestamp),
        ("seen", "datetime", "", Type::DateTime),
        ("doc", "longtext", "utf8mb4_bin", Type::Json),
    ];

    fn columns() -> Vec<ColumnSchema> {
        COLUMNS.iter().map(|&(name, .., ty)| ColumnSchema::new(name, ty)).collect()
    }

    fn read(clause: &str) -> Option<String> {
        let schemas = columns();
        let declared = schemas.iter().zip(COLUMNS);
        let declared: Vec<_> = declared
            .map(|(schema, (_, sql_type, collation, _))| MariaDbColumn {
                schema,
                sql_type,
                collation,
            })
            .collect();
        let table = TableSchema::builder("t").columns(schemas.clone()).key(["id"]).build().unwrap();
        check(clause, &table, &declared).map(|check| check.to_text(&table))
    }

    #[test]
    fn checks_mean_the_same() {
        for (clause, expected) in [
            ("`n` >= 0", "n >= 0"),
            ("`n` between 1 and 10 and `id` <> -1", "n >= 1 AND n <= 10 AND id <> -1"),
            ("`n` in (1,2,3) or `price` < 1000.50", "n IN (1, 2, 3) OR price < 1000.5"),
            ("`n` not in (1,2)", "NOT (n IN (1, 2))"),
            ("`code` in ('a','it\\'s')", "code IN ('a', 'it''s')"),
            ("char_length(`name`) > 3", "length(name) > 3"),
            ("!(`n` > 5 and `ok` = 1)", "NOT (n > 5 AND ok = 1)"),
            ("`name` is not null", "NOT (name IS NULL)"),
            ("`day` >= '2020-01-31'", "day >= '2020-01-31'"),
            ("`n` + 1 < `id` and `n` % 2 = 0", "n + 1 < id AND n % 2 = 0"),
            ("coalesce(`n`,0) >= 0", "coalesce(n, 0) >= 0"),
        ] {
            assert_eq!(read(clause).as_deref(), Some(expected), "{clause}");
        }
    }

    #[test]
    fn what_could_mean_something_else_is_rejected() {
        for clause in [
            "`name` in ('a','b')",
            "`name` like 'a%'",
            "`code` < 'b'",
            "`code` regexp '^a'",
            "octet_length(`name`) > 3",
            "lcase(`code`) = `code`",
            "`n` / 2 > 1",
            "`u` - 1 > 0",
            "`n` % `id` = 0",
            "`part` > 0.1",
            "`at` > '2020-01-31 10:00:00'",
            "`day` >= '2020-1-31'",
            "`day` >= '2020-01-31 10:00:00'",
            "`day` <= curdate()",
            "!`ok` = 1",
            "!(`ok`) = 1",
            "`n` > 1 = 1",
            "`code` = 'a\\nb'",
            "`n` > 1 || `n` < 0",
            "json_valid(`doc`) or `doc` is null",
        ] {
            assert_eq!(read(clause), None, "{clause}");
        }
        assert_eq!(json_column("json_valid(`doc`)").as_deref(), Some("doc"));
        assert_eq!(json_column("json_valid(`doc`) and 1"), None);
    }

    #[test]
    fn constant_defaults_are_values() {
        let text = |text: &str| Some(Value::from(text.to_owned()));
        for (name, expression, expected) in [
            ("n", "5", Some(Value::Int(5))),
            ("n", "-1", Some(Value::Int(-1))),
            ("n", "(1 + 2)", None),
            ("n", "NULL", None),
            ("name", "'it\\'s'", text("it's")),
            ("name", "''", text("")),
            ("name", "uuid()", None),
            ("fixed", "'a '", None),
            ("price", "0.99", Some(Value::Int(9_900))),
            ("rate", "0.1", Some(Value::Float(0.1))),
            ("ok", "1", Some(Value::Int(1))),
            ("day", "'1970-01-02'", Some(Value::Int(1))),
            ("day", "'0000-00-00'", None),
            ("seen", "'1970-01-01 00:00:01'", Some(Value::Int(1_000_000))),
            ("at", "'1970-01-01 00:00:01'", None),
            ("at", "current_timestamp()", None),
            ("doc", "'{}'", text("{}")),
        ] {
            let at = COLUMNS.iter().position(|(column, ..)| *column == name).unwrap();
            let (_, sql_type, collation, _) = COLUMNS[at];
            let column = MariaDbColumn { schema: &columns()[at], sql_type, collation };
            assert_eq!(default(expression, column), expected, "{name} {expression}");
        }
    }
}
