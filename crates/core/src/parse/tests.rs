use crate::{ColumnSchema, Condition, Currency, ErrorKind, TableSchema, Value};
use crate::{Date, RelatedStep, Uuid};
use std::sync::Arc;

fn table() -> TableSchema {
    TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("last name"))
        .column(ColumnSchema::of::<Option<Date>>("born"))
        .column(ColumnSchema::of::<Currency>("amount"))
        .column(ColumnSchema::of::<bool>("active"))
        .column(ColumnSchema::of::<f64>("rate"))
        .column(ColumnSchema::of::<Vec<u8>>("photo"))
        .column(ColumnSchema::of::<Uuid>("tag"))
        .column(ColumnSchema::of::<i64>("other"))
        .key(["id"])
        .build()
        .unwrap()
}

fn evaluate(text: &str) -> Option<bool> {
    let tag: Uuid = "00000000-0000-0000-0000-0000000000ff".parse().unwrap();
    let row: &[Value<'_>] = &[
        Value::Int(7),
        Value::from("O'Hara"),
        Value::Null,
        Value::Int(199_900),
        Value::Int(1),
        Value::Float(0.5),
        Value::from(&[0_u8, 255][..]),
        Value::from(&tag.as_bytes()[..]),
        Value::Int(7),
    ];
    let table = table();
    Condition::parse(text, &table).unwrap_or_else(|e| panic!("{text}: {e}")).evaluate(&table, &row)
}

#[test]
fn conditions_mean_what_sql_means() {
    for (text, expected) in [
        ("id = 7", Some(true)),
        ("rate < 'inf' and rate > '-inf'", Some(true)),
        ("rate in ('inf', '-inf')", Some(false)),
        ("id=+7 and id>-7 and `id`=7 and [id]=7", Some(true)),
        ("id=7 AND id<>8 and id!=9", Some(true)),
        ("id > 7 or id >= 7", Some(true)),
        ("not (id > 7 or id >= 7)", Some(false)),
        ("not id > 7 and id < 8", Some(true)),
        ("id between 5 and 7 and id not between 8 and 9", Some(true)),
        ("id in (1, 7,9) and id not in (1)", Some(true)),
        ("id in ()", Some(false)),
        ("id = other and id <= \"other\"", Some(true)),
        ("\"last name\" = 'O''Hara'", Some(true)),
        ("\"last name\" like 'o_h%'", Some(true)),
        ("\"last name\" starts with 'O'''", Some(true)),
        ("\"last name\" not starts with 'o'", Some(true)),
        ("\"last name\" contains '''H' and \"last name\" not contains 'h'", Some(true)),
        ("\"last name\" ends with 'ra' and not \"last name\" ends with 'RA'", Some(true)),
        ("\"last name\" like 'o!''h%' escape '!'", Some(true)),
        ("\"last name\" not like 'o!_h%' escape '!' and id = 7", Some(true)),
        ("born is null", Some(true)),
        ("born is not null", Some(false)),
        ("born > '1970-01-01'", None),
        ("amount = 19.99 and amount > '19.9899'", Some(true)),
        ("active = true and not active = false", Some(true)),
        ("rate = .5 and rate > -1 and rate < 5e-1", Some(false)),
        ("photo = x'00FF'", Some(true)),
        ("tag = '00000000-0000-0000-0000-0000000000ff'", Some(true)),
    ] {
        assert_eq!(evaluate(text), expected, "{text}");
    }
}

#[test]
fn invalid_conditions_are_errors() {
    let deep = format!("{}id = 1{}", "(".repeat(100), ")".repeat(100));
    let nots = "not ".repeat(100_000);
    for (text, kind) in [
        ("", ErrorKind::Syntax),
        ("id", ErrorKind::Syntax),
        ("id =", ErrorKind::Syntax),
        ("id = 7 id = 8", ErrorKind::Syntax),
        ("id = 7)", ErrorKind::Syntax),
        ("(id = 7", ErrorKind::Syntax),
        ("id = null", ErrorKind::Syntax),
        ("id = 7; drop table person", ErrorKind::Syntax),
        ("\"last name\" = 'x", ErrorKind::Syntax),
        ("photo = x'0'", ErrorKind::Syntax),
        ("id = 99999999999999999999e999", ErrorKind::Syntax),
        ("id = :me", ErrorKind::Syntax),
        ("id = :", ErrorKind::Syntax),
        ("id = - other", ErrorKind::Syntax),
        ("id = 7 -- comment", ErrorKind::Syntax),
        ("\"id = 7", ErrorKind::Syntax),
        ("id = ?", ErrorKind::Syntax),
        ("photo = x'00", ErrorKind::Syntax),
        ("id = 0x1f", ErrorKind::Syntax),
        ("id = é", ErrorKind::Schema),
        ("nobody = 1", ErrorKind::Schema),
        ("\"last name\" = 5", ErrorKind::Mismatch),
        ("id = 1.5", ErrorKind::Mismatch),
        ("amount = 0.00001", ErrorKind::Mismatch),
        ("amount < 2e1", ErrorKind::Mismatch),
        (&deep, ErrorKind::Syntax),
        (&nots, ErrorKind::Syntax),
    ] {
        let error = Condition::parse(text, &table()).expect_err(text);
        assert_eq!(error.kind(), kind, "{text}: {error}");
    }
    for (text, message) in [
        ("id > 3 and name = 'x'", "there is no column 'name' (table person)"),
        ("\"last name\" = x", "there is no column 'x': a text is in single quotes (table person)"),
        (
            "id > 3 ~ 'x'",
            "syntax error in the condition: expected an operator or the end, found '~' (table person)",
        ),
    ] {
        assert_eq!(Condition::parse(text, &table()).unwrap_err().to_string(), message);
    }
}

#[test]
fn parameters_are_replaced_by_their_values() {
    let named = |name: &str| match name {
        "me" => Some(Value::Int(7)),
        "nobody" => Some(Value::Null),
        _ => None,
    };
    let parse = |text| Condition::parse_with(text, &table(), &named);
    assert_eq!(parse("id = :me").unwrap(), Condition::parse("id = 7", &table()).unwrap());
    assert_eq!(parse("id = :nobody").unwrap(), Condition::Or(Vec::new()));
    assert!(parse("id = :you").is_err());
}

#[test]
fn columns_of_related_tables_are_in_subqueries() {
    let steps = |path: &str| {
        let table = Arc::new(table());
        (path == "a.b").then(|| vec![RelatedStep { table, from: 8, to: 0 }])
    };
    let parse = |text: &str| Condition::parse_related(text, &table(), &steps);
    let related =
        |text: &str| Condition::parse(text, &table()).unwrap().of_related(&steps("a.b").unwrap());
    assert_eq!(parse("a.b.rate > 1").unwrap(), related("rate > 1"));
    assert_eq!(parse("a.b.born is null").unwrap(), related("born is null"));
    assert_eq!(parse("a.b.born is not null").unwrap(), related("born is not null"));
    assert_eq!(parse("a.b.\"last name\" like 'x%'").unwrap(), related("\"last name\" like 'x%'"));
    let both = Condition::Or(vec![related("id = other"), Condition::IsNull { column: 2 }]);
    assert_eq!(parse("a.b.id = a.b.other or born is null").unwrap(), both);
    // Other negations are of the whole.
    let not = Condition::Not(Box::new(related("id in (1, 2)")));
    assert_eq!(parse("a.b.id not in (1, 2)").unwrap(), not);
    for (text, kind) in [
        ("a.id = 1", ErrorKind::Schema),
        ("a.b.nothing = 1", ErrorKind::Schema),
        ("a.b.id = other", ErrorKind::Syntax),
        ("id = a.b.id", ErrorKind::Syntax),
        ("a.b. = 1", ErrorKind::Syntax),
    ] {
        assert_eq!(parse(text).unwrap_err().kind(), kind, "{text}");
    }
}
