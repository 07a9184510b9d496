use super::*;

const COLUMNS: &[(&str, &str, Type)] = &[
    ("id", "bigint", Type::I64),
    ("n", "integer", Type::I32),
    ("Name", "character varying(20)", Type::Text),
    ("code", "character(3)", Type::Text),
    ("price", "numeric(10,2)", Type::Currency),
    ("rate", "double precision", Type::F64),
    ("ok", "boolean", Type::Bool),
    ("day", "date", Type::Date),
    ("at", "timestamp with time zone", Type::Timestamp),
    ("seen", "timestamp without time zone", Type::DateTime),
    ("mood", "mood", Type::Text),
    ("doc", "jsonb", Type::Json),
    ("part", "real", Type::F32),
    ("tags", "text[]", Type::Text),
];

fn columns() -> Vec<ColumnSchema> {
    let column = |&(name, _, ty): &(&'static str, _, _)| ColumnSchema::new(name, ty);
    COLUMNS.iter().map(column).collect()
}

fn read(definition: &str) -> Option<String> {
    let schemas = columns();
    let all = schemas.iter().zip(COLUMNS);
    let declared: Vec<_> =
        all.map(|(schema, (_, sql_type, _))| PostgresColumn { schema, sql_type }).collect();
    let table = TableSchema::builder("t").columns(schemas.clone()).key(["id"]).build().unwrap();
    check(definition, &table, &declared).map(|check| check.to_text(&table))
}

fn default_of(name: &str, expression: &str) -> Option<Value<'static>> {
    let at = COLUMNS.iter().position(|(column, ..)| *column == name).unwrap();
    default(expression, PostgresColumn { schema: &columns()[at], sql_type: COLUMNS[at].1 })
}

#[test]
fn checks_mean_the_same() {
    for (definition, expected) in [
        ("CHECK ((n >= 0))", "n >= 0"),
        (
            "CHECK (((n >= 1) AND (n <= 10) AND (id <> '-1'::integer)))",
            "n >= 1 AND n <= 10 AND id <> -1",
        ),
        (
            "CHECK (((\"Name\")::text = ANY ((ARRAY['a'::character varying, 'it''s'::character varying])::text[])))",
            "Name IN ('a', 'it''s')",
        ),
        ("CHECK ((n <> ALL (ARRAY[1, 2])))", "NOT (n IN (1, 2))"),
        ("CHECK (((price >= (0)::numeric) OR (price IS NULL)))", "price >= 0 OR price IS NULL"),
        ("CHECK ((price < 1000.50))", "price < 1000.5"),
        ("CHECK ((rate > (0.5)::double precision))", "rate > 0.5"),
        ("CHECK ((length((\"Name\")::text) > 3))", "length(Name) > 3"),
        ("CHECK ((NOT (ok AND (n > 5))))", "NOT (ok AND n > 5)"),
        ("CHECK ((ok = true))", "ok = 1"),
        ("CHECK ((day >= '2020-01-31'::date))", "day >= '2020-01-31'"),
        (
            "CHECK ((seen > '2020-01-31 10:00:00'::timestamp without time zone))",
            "seen > '2020-01-31T10:00:00'",
        ),
        (
            "CHECK ((at > '2020-01-31 10:00:00+00'::timestamp with time zone))",
            "at > '2020-01-31T10:00:00Z'",
        ),
        ("CHECK ((((n % 2) = 0) AND ((n + 1) < 9)))", "n % 2 = 0 AND n + 1 < 9"),
        ("CHECK (((\"Name\")::text ~~ '%@%'::text))", "Name LIKE '%@%'"),
        ("CHECK ((n IS DISTINCT FROM 5))", "NOT (n IS 5)"),
        ("CHECK ((COALESCE(n, 0) >= 0))", "coalesce(n, 0) >= 0"),
    ] {
        assert_eq!(read(definition).as_deref(), Some(expected), "{definition}");
    }
}

#[test]
fn what_could_mean_something_else_is_rejected() {
    for definition in [
        "CHECK ((n >= 0)) NOT VALID",
        "CHECK (((\"Name\")::text > 'a'::text))",
        "CHECK (((\"Name\")::text ~~ 'a%'::text))",
        "CHECK (((\"Name\")::text ~ '^[a-z]'::text))",
        "CHECK ((lower((\"Name\")::text) = (\"Name\")::text))",
        "CHECK ((code = 'ab'::bpchar))",
        "CHECK ((length(code) = 3))",
        "CHECK (((price)::integer > 5))",
        "CHECK (((id)::double precision > rate))",
        "CHECK ((at > '2020-01-31 10:00:00'::timestamp without time zone))",
        "CHECK ((day <= CURRENT_DATE))",
        "CHECK ((day <= now()))",
        "CHECK (((n / id) > 1))",
        "CHECK (((n % 0) = 1))",
        "CHECK ((mood = 'ok'::mood))",
        "CHECK (((doc ->> 'a'::text) = 'b'::text))",
        "CHECK ((n > 99999999999999999999))",
        "CHECK ((rate = 'NaN'::double precision))",
        "CHECK ((missing > 1))",
        "CHECK (n > 1",
    ] {
        assert_eq!(read(definition), None, "{definition}");
    }
}

#[test]
fn constant_defaults_are_values() {
    let text = |text: &str| Some(Value::from(text.to_owned()));
    for (column, expression, expected) in [
        ("n", "5", Some(Value::Int(5))),
        ("n", "'-1'::integer", Some(Value::Int(-1))),
        ("n", "1.5", None),
        ("n", "(1 + 2)", None),
        ("id", "nextval('t_id_seq'::regclass)", None),
        ("Name", "'it''s'::character varying", text("it's")),
        ("Name", r"E'a\\b'::text", text(r"a\b")),
        ("code", "'ab'::bpchar", None),
        ("price", "0.99", Some(Value::Int(9_900))),
        ("price", "'-2'::numeric", Some(Value::Int(-20_000))),
        ("price", "0.995", None),
        ("rate", "0.1", Some(Value::Float(0.1))),
        ("rate", "'Infinity'::double precision", None),
        ("part", "0.1", Some(Value::Float(f64::from(0.1_f32)))),
        ("ok", "true", Some(Value::Int(1))),
        ("day", "'1970-01-02'::date", Some(Value::Int(1))),
        ("day", "CURRENT_DATE", None),
        ("seen", "'1970-01-01 00:00:01'::timestamp without time zone", Some(Value::Int(1_000_000))),
        ("at", "'1970-01-01 01:00:01+01'::timestamp with time zone", Some(Value::Int(1_000_000))),
        ("at", "now()", None),
        ("mood", "'ok'::mood", text("ok")),
        ("mood", "'ok'::other", None),
        ("doc", "'{}'::jsonb", text("{}")),
        ("tags", "'{}'::text[]", text("{}")),
    ] {
        assert_eq!(default_of(column, expression), expected, "{column} {expression}");
    }
}
