use super::*;
use crate::{Collation, ColumnSchema, Currency, Date, ErrorKind, Timestamp, Uuid};

fn table() -> TableSchema {
    TableSchema::builder("t")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::of::<Currency>("price"))
        .column(ColumnSchema::of::<Date>("day"))
        .column(ColumnSchema::of::<Timestamp>("at"))
        .column(ColumnSchema::of::<Uuid>("token"))
        .column(ColumnSchema::new("name", Type::Text).collation(Collation::NoCase))
        .column(ColumnSchema::new("rate", Type::F64))
        .key(["id"])
        .build()
        .unwrap()
}

fn text(check: &str) -> String {
    let table = table();
    CheckExpression::parse(check, &table).unwrap().to_text(&table)
}

fn kind(check: &str) -> ErrorKind {
    CheckExpression::parse(check, &table()).unwrap_err().kind()
}

#[test]
fn text_is_canonical() {
    for (check, canonical) in [
        ("id>5 and(id<10 or name='x')", "id > 5 AND (id < 10 OR name = 'x')"),
        ("not id = 5", "NOT (id = 5)"),
        ("id between 1 and 2", "id >= 1 AND id <= 2"),
        ("\"name\" is not null", "NOT (name IS NULL)"),
        ("id in (1,2,-3)", "id IN (1, 2, -3)"),
        ("(id + 1) * 2 - 3 > id / 2", "(id + 1) * 2 - 3 > id / 2"),
        ("ID - (2 - id) = 0", "id - (2 - id) = 0"),
        ("name || 'it''s' like '%s' /* a comment */", "name || 'it''s' LIKE '%s'"),
        ("ifnull(id, 3) = 3", "coalesce(id, 3) = 3"),
        ("iif(id > 1, name) is null", "iif(id > 1, name, NULL) IS NULL"),
        ("iif(id, 'a', name) = 'a'", "iif(id, 'a', name) = 'a'"),
        ("x'0FA0' is not x'00'", "NOT (x'0fa0' IS x'00')"),
        ("id = -9223372036854775807 - 1", "id = -9223372036854775807 - 1"),
    ] {
        assert_eq!(text(check), canonical, "{check}");
        assert_eq!(text(canonical), canonical);
    }
}

#[test]
fn literals_are_values_of_the_other_side() {
    for (check, canonical, stored) in [
        ("price >= 1.5", "price >= 1.5", "price >= 15000"),
        ("-1 <= price", "-1 <= price", "-10000 <= price"),
        ("price + 1 < 2 * price", "price + 1 < 2 * price", "price + 10000 < 2 * price"),
        ("price in (1, 0.0001)", "price IN (1, 0.0001)", "price IN (10000, 1)"),
        ("coalesce(price, 0) <> 1", "coalesce(price, 0) <> 1", "coalesce(price, 0) <> 10000"),
        ("day >= '2026-01-31'", "day >= '2026-01-31'", "day >= 20484"),
        ("at > '1970-01-01T00:00:01Z'", "at > '1970-01-01T00:00:01Z'", "at > 1000000"),
    ] {
        let table = table();
        assert_eq!(text(check), canonical);
        let parsed = CheckExpression::parse(check, &table).unwrap();
        let read = CheckExpression::parse_stored(stored, &table).unwrap();
        assert_eq!(parsed, read, "{check} is {stored}");
    }
    assert!(text("token <> '00000000-0000-0000-0000-000000000000'").contains("'00000000-"));
}

#[test]
fn meaningless_expressions_are_rejected() {
    for check in [
        "price * price > 1",
        "price / 2 > 1",
        "price > 1.23456",
        "price > rate",
        "price",
        "day > 20484",
        "day > 'tomorrow'",
        "day + 1 > day",
        "day > at",
        "name > 5",
        "name",
        "token = 'x'",
        "coalesce(price, 'x') = 1",
        "iif(name, 1, 2) = 1",
        "iif(id > 1, name, 2) = 1",
        "iif(id > 1) = 1",
    ] {
        assert_eq!(kind(check), ErrorKind::Unsupported, "{check}");
    }
    assert_eq!(kind("nothing > 1"), ErrorKind::Schema);
}

/// Text that would leave its parentheses in a statement of some database.
#[test]
fn injected_sql_is_rejected() {
    for check in [
        "1=1); insert into orders(id) select v from secrets; create table pwned(a int); --",
        "1=1)) as select * from secrets -- ",
        "1) REFERENCES secrets(id) CHECK (1",
        "id > (select max(id) from secrets)",
        "pg_read_file('/etc/passwd') = ''",
        "id = 1 --",
        "id = $1",
        "id = ?",
        "name = 'open",
        "id = 1 /* open",
    ] {
        let result = CheckExpression::parse(check, &table());
        match check {
            // The comment is dropped.
            "id = 1 --" => assert_eq!(result.unwrap().to_text(&table()), "id = 1"),
            "id = 1 /* open" => assert_eq!(result.unwrap().to_text(&table()), "id = 1"),
            _ => assert!(result.is_err(), "{check}"),
        }
    }
    // A string that looks like the end of a comment stays a string.
    let nested = "/* /* */ name <> 'x */ 1=1) ); create table pwn(a int); --'";
    assert_eq!(text(nested), "name <> 'x */ 1=1) ); create table pwn(a int); --'");
}

#[test]
fn parts_of_documents() {
    let table = TableSchema::builder("t")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("my \"data\"", Type::Json))
        .column(ColumnSchema::new("name", Type::Text))
        .key(["id"])
        .build()
        .unwrap();
    let column = r#""my ""data""""#;
    for (path, canonical) in [
        ("$", "$"),
        ("$.\"level\"[007]", "$.level[7]"),
        ("$.\"a b\".\"\".é", "$.\"a b\".\"\".é"),
        (r#"$."it''s""#, r#"$."it''s""#),
        (r#"$."a\b\\""#, r#"$."a\b\\""#),
    ] {
        for function in ["json_text", "json_integer", "json_float", "json_truth", "json_length"] {
            let text = format!("{function}({column}, '{path}')");
            let parsed = CheckExpression::parse_value(&text, &table).unwrap();
            assert_eq!(parsed.to_text(&table), format!("{function}({column}, '{canonical}')"));
            let CheckNode::Call(function, arguments) = parsed.root() else { panic!("{parsed:?}") };
            let [_, CheckNode::Literal(Value::Text(path), None)] = &arguments[..] else {
                panic!("{parsed:?}")
            };
            let stored = sqlite_json_part(*function, column, path);
            let read = CheckExpression::parse_stored_value(&stored, &table).unwrap();
            assert_eq!(read, parsed, "{stored}");
        }
    }
    for wrong in [
        "json_text(name, '$.a')",
        "json_text(\"my \"\"data\"\"\", name)",
        "json_text(\"my \"\"data\"\"\", 'a')",
        "json_text(\"my \"\"data\"\"\", '$.\"a\nb\"')",
        "json_has(\"my \"\"data\"\"\", '$.a', 1)",
    ] {
        let error = CheckExpression::parse_value(wrong, &table).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{wrong}");
    }
    let other =
        r#"iif(json_type("my ""data""", '$.a') = 'text', json_type("my ""data""", '$.b'), NULL)"#;
    assert!(CheckExpression::parse_stored_value(other, &table).is_err());
}
