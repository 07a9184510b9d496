//! CHECK constraints: evaluates the tree that [`bobak_core::check`] parses.

use super::eval;
use bobak_core::check::CheckExpression;
use bobak_core::{Result, TableSchema, codec::EncodedRow};

/// A constraint that each row of a table satisfies.
#[derive(Clone, Debug)]
pub(super) struct Check {
    expression: CheckExpression,
}

impl Check {
    /// Parses a constraint.
    ///
    /// # Errors
    /// As [`CheckExpression::parse`].
    pub fn parse(text: &str, table: &TableSchema) -> Result<Self> {
        CheckExpression::parse(text, table).map(|expression| Self { expression })
    }

    /// Whether the row satisfies the constraint. As in SQL, NULL is no violation.
    pub fn holds(&self, table: &TableSchema, row: EncodedRow<'_>) -> bool {
        let value = eval::evaluate(self.expression.root(), table, row);
        eval::truth(&value) != Some(false)
    }

    /// The constraint's tree.
    pub const fn expression(&self) -> &CheckExpression {
        &self.expression
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{Collation, ColumnSchema, ErrorKind, Type, Value, codec};

    fn table() -> TableSchema {
        TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("n", Type::I32).nullable(true))
            .column(ColumnSchema::new("f", Type::F64).nullable(true))
            .column(ColumnSchema::new("name", Type::Text).nullable(true))
            .column(ColumnSchema::new("code", Type::Text).collation(Collation::NoCase))
            .column(ColumnSchema::new("raw", Type::Bytes))
            .column(ColumnSchema::new("any thing", Type::Any).nullable(true))
            .key(["id"])
            .build()
            .unwrap()
    }

    fn holds(text: &str) -> bool {
        let values: [Value<'_>; 7] = [
            7.into(),
            Value::Null,
            Value::Float(2.5),
            "Zoë".into(),
            "AbC".into(),
            Value::Bytes(vec![1, 0, 255].into()),
            "x".into(),
        ];
        let mut bytes = Vec::new();
        codec::encode(&mut bytes, &values.as_slice()).unwrap();
        let table = table();
        Check::parse(text, &table).unwrap().holds(&table, EncodedRow::new(&bytes[codec::FRAME..]))
    }

    #[test]
    fn rules_mean_what_they_mean_in_sqlite() {
        for text in [
            "id = 7",
            "ID == +7 and id <> 8 and id != 8",
            "n > 5",
            "n is null",
            "n isnull",
            "not (n notnull)",
            "name is not null",
            "n is not 5",
            "id is 7",
            "n in (1, 2)",
            "id in (1, 7)",
            "id not in (1, 2)",
            "id not in (1, null)",
            "id between 7 and 8 and id not between 8 and 9",
            "f between 2 and 3",
            "f * 2 = 5",
            "id / 2 = 3",
            "id % 4 = 3",
            "-id / 2 = -3",
            "id / 0 is null",
            "2 + 3 * 4 = 14",
            "(2 + 3) * 4 = 20",
            "10 - 2 - 3 = 5",
            "9223372036854775807 + 1 > 9.2e18",
            "0x1F = 31",
            "1 < 2 = 1",
            "not 1 = 2",
            "1 or 0 and 0",
            "name = 'Zoë'",
            "length(name) = 3",
            "length(raw) = 3",
            "raw = x'0100ff'",
            "name like 'z_ë'",
            "name not like 'a%'",
            "code = 'abc'",
            "'abc' = code",
            "lower(code) = 'abc' and upper(code) = 'ABC'",
            "name || code = 'ZoëAbC'",
            "trim('  a b ') = 'a b'",
            "coalesce(n, id) = 7",
            "ifnull(n, 3) = 3",
            "nullif(id, 7) is null",
            "abs(-3) = 3",
            "\"any thing\" = 'x'",
            "[any thing] > 5",
            "`any thing` <> 5",
            "name <> 'it''s'",
            "true and not false",
            "id",
            "null",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in [
            "id = 8",
            "id < 7.0",
            "f > id",
            "not id",
            "0",
            "name = 'zoë'",
            "name like 'b%'",
            "id in ()",
            "length(code) > 3",
            "id % 2 = 0 or f <= 2",
            "n is 5",
            "'abc' = 'ABC'",
        ] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn unknown_syntax_is_rejected() {
        let table = table();
        for (text, kind) in [
            ("nobody = 1", ErrorKind::Schema),
            ("name > 5", ErrorKind::Unsupported),
            ("id = 'a'", ErrorKind::Unsupported),
            ("name + 1 = 2", ErrorKind::Unsupported),
            ("name", ErrorKind::Unsupported),
            ("glob(name)", ErrorKind::Unsupported),
            ("id in (select 1)", ErrorKind::Unsupported),
            ("case when 1 then 2 end", ErrorKind::Unsupported),
            ("name glob 'a'", ErrorKind::Unsupported),
            ("length(id) = 1", ErrorKind::Unsupported),
            ("length()", ErrorKind::Unsupported),
            ("id =", ErrorKind::Unsupported),
            ("id = 1)", ErrorKind::Unsupported),
            ("(id = 1", ErrorKind::Unsupported),
            ("name = 'x", ErrorKind::Unsupported),
            ("id & 1", ErrorKind::Unsupported),
            ("x'0' = raw", ErrorKind::Unsupported),
            ("id = 99999999999999999999", ErrorKind::Unsupported),
            ("id > 0; drop table t", ErrorKind::Unsupported),
            ("", ErrorKind::Unsupported),
        ] {
            let error = Check::parse(text, &table).unwrap_err();
            assert_eq!(error.kind(), kind, "{text}: {error}");
            assert!(error.message().contains(text) && error.table() == Some("t"));
        }
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(Check::parse(&deep, &table).is_err());
    }
}
