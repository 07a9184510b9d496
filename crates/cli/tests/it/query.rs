//! `bobak query`: statements, parameters, types.

use crate::program::Program;

fn program() -> Program {
    let program = Program::new();
    program.file(
        "t.csv",
        "a,name,at,ok\n1,Zoë,2013-01-01T10:00:00Z,true\n22,,2013-01-02T10:00:00Z,false\n",
    );
    program.ok(&["import", "sqlite:t.db", "t.csv", "--table", "t"]);
    program
}

#[test]
fn default_format_is_table() {
    assert_eq!(
        program().ok(&["query", "sqlite:t.db", "SELECT a, name, at, ok FROM t"]),
        " a  name  at                    ok\n\
         ──  ────  ────────────────────  ─────\n\
         \x201  Zoë   2013-01-01T10:00:00Z  true\n\
         22  NULL  2013-01-02T10:00:00Z  false\n"
    );
}

#[test]
fn parameters_are_bound_in_order() {
    let program = program();
    let sql = "SELECT name FROM t WHERE a = ? AND name = ?";
    let out = program.ok(&[
        "query",
        "sqlite:t.db",
        sql,
        "--param",
        "1",
        "--param",
        "Zoë",
        "--format",
        "csv",
    ]);
    assert_eq!(out, "name\nZoë\n");
    let out =
        program.ok(&["query", "sqlite:t.db", "SELECT ? AS x", "--param", "-7", "--format", "json"]);
    assert_eq!(out, "[\n{\"x\":-7}\n]\n");
    let message = "1 value was given for 2 parameters: pass the value of each with --param";
    program.fails(1, message, &["query", "sqlite:t.db", sql, "--param", "1"]);
}

#[test]
fn parameters_are_bound_by_name() {
    let program = program();
    let sql = "SELECT name FROM t WHERE a IN (:a) AND name LIKE :name AND a >= :least";
    let query = |given: &[&str]| {
        let given = given.iter().flat_map(|given| ["--param", given]);
        let words = ["query", "sqlite:t.db", sql, "--format", "csv"].into_iter().chain(given);
        program.run(&words.collect::<Vec<_>>())
    };
    let found = query(&["a=0", "name=%=%", "least=0"]);
    assert_eq!((found.code, &*found.out), (0, "name\n"));
    assert_eq!(query(&["a=1", "name=Z%", "a=22", "least=1"]).out, "name\nZoë\n");
    let found = query(&["a=1", "Z%"]);
    let remedy = "the parameters of the statement have names: write --param NAME=VALUE";
    assert!(found.code == 2 && found.err.contains(remedy), "{}", found.err);
    let found = query(&["a=1", "name=Z%"]);
    assert!(found.code == 1 && found.err.contains("the parameter :least"), "{}", found.err);
}

#[test]
fn parameters_by_name_may_have_types() {
    let program = program();
    let sql = "SELECT typeof(:x) || ' ' || quote(:x) AS found";
    let query = |given| {
        program.run(&["query", "sqlite:t.db", sql, "--format", "csv", "--no-header", "-p", given])
    };
    let typed = [
        ("x=10", "integer 10"),
        ("x:text=10", "text '10'"),
        ("x:TEXT=a=b", "text 'a=b'"),
        ("x:text=", "text ''"),
        ("x:null", "null NULL"),
        ("x:i64=9007199254740993", "integer 9007199254740993"),
        ("x=y:null", "text 'y:null'"),
    ];
    for (given, expected) in typed {
        let found = query(given);
        assert_eq!((found.code, found.out.trim_end()), (0, expected), "{given}: {}", found.err);
    }
    for (given, expected) in [
        ("x:string=10", "there is no type \"string\"; there are bool, i8"),
        ("x:i64=ten", "--param x: \"ten\" is not an i64"),
    ] {
        let found = query(given);
        assert!(found.code == 2 && found.err.contains(expected), "{given}: {}", found.err);
    }
}

#[test]
fn type_flag_sets_type_of_expression() {
    let program = program();
    let sql = "SELECT 15706 AS day, max(at) AS last FROM t";
    let query = |more: &[&str]| {
        program.ok(&[&["query", "sqlite:t.db", sql, "--format", "csv"][..], more].concat())
    };
    assert_eq!(query(&[]), "day,last\n15706,2013-01-02T10:00:00Z\n");
    assert_eq!(query(&["--type", "day=date"]), "day,last\n2013-01-01,2013-01-02T10:00:00Z\n");
}

#[test]
fn expressions_have_the_types_of_amounts_and_times() {
    let program = program();
    let sql = "CREATE TABLE sale (id INTEGER PRIMARY KEY, total CURRENCY_E4, due DATE_DAYS)";
    program.ok(&["query", "sqlite:t.db", sql]);
    let sql = "INSERT INTO sale VALUES (1, 2.5, '2013-01-31'), (2, 10, '2013-02-01')";
    program.ok(&["query", "sqlite:t.db", sql]);
    let sql = "SELECT sum(total * 2) AS total, min(due) AS due, strftime('%Y-%m', max(due)) AS month FROM sale \
               WHERE total > ? AND due >= ?";
    let query = |url| {
        let given = ["--param", "2.5", "--param", "2013-02-01", "--format", "csv"];
        program.ok(&[&["query", url, sql][..], &given].concat())
    };
    assert_eq!(query("sqlite:t.db"), "total,due,month\n20.00,2013-02-01,2013-02\n");
    // The text of a date compares with no number of days.
    assert_eq!(query("sqlite:t.db?typed_sql=off"), "total,due,month\n,,\n");
}

#[test]
fn empty_result_has_header() {
    let out = program().ok(&[
        "query",
        "sqlite:t.db",
        "SELECT a, name AS n FROM t WHERE a = 0",
        "--format",
        "csv",
    ]);
    assert_eq!(out, "a,n\n");
}

#[test]
fn explain_advises_an_index_for_the_order_of_a_query_with_a_limit() {
    let program = program();
    let explain = |end: &str| {
        let sql = format!("SELECT * FROM t ORDER BY {end}");
        program.ok(&["query", "sqlite:t.db", "--explain", &sql])
    };
    for end in ["name LIMIT 5", "t.name DESC, a DESC LIMIT 5 OFFSET 2", "\"name\" asc limit 5"] {
        let plan = explain(end);
        assert!(plan.contains("advice: t sorts every row: an index on name"), "{end}: {plan}");
    }
    for end in
        ["name", "lower(name) LIMIT 5", "name, a DESC LIMIT 5", "name COLLATE NOCASE LIMIT 5"]
    {
        let plan = explain(end);
        assert!(!plan.contains("advice"), "{end}: {plan}");
    }
}

#[test]
fn statement_from_standard_input_changes_rows() {
    let program = program();
    let run =
        program.run_with_input(&["query", "sqlite:t.db", "-"], b"DELETE FROM t WHERE a = 1;\n");
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.starts_with("1 row "), "{}", run.err);
    assert_eq!(
        program.ok(&["query", "sqlite:t.db", "SELECT count(*) AS n FROM t", "--format", "csv"]),
        "n\n1\n"
    );
}

#[test]
fn attached_databases_are_joined() {
    let program = program();
    program.file("u.csv", "b,word\n1,one\n22,two\n");
    program.ok(&["import", "memory:u.bobak", "u.csv", "--table", "u"]);
    let sql = "SELECT t.a, u.word FROM t JOIN m.u AS u ON u.b = t.a ORDER BY t.a";
    let out =
        program.ok(&["query", "t.db", sql, "--attach", "m=memory:u.bobak", "--format", "csv"]);
    assert_eq!(out, "a,word\n1,one\n22,two\n");
    let sql = "UPDATE m.u SET word = 'zwei' WHERE b = 22";
    program.ok(&["query", "t.db", sql, "--attach", "m=memory:u.bobak"]);
    let sql = "SELECT word FROM m.u ORDER BY b";
    let out =
        program.ok(&["query", "t.db", sql, "--attach", "m=memory:u.bobak", "--format", "csv"]);
    assert_eq!(out, "word\none\nzwei\n");
    for (wrong, code, sentence) in [
        ("m", 2, "expected NAME=DATABASE"),
        ("main=memory:", 2, "two engines are named 'main'"),
        ("m=missing.db", 1, "file missing.db does not exist"),
    ] {
        program.fails(code, sentence, &["query", "t.db", "SELECT 1", "--attach", wrong]);
    }
}

#[test]
fn explain_shows_the_plan_and_the_index_that_would_help() {
    let program = program();
    let explain = |sql: &str| program.ok(&["query", "t.db", "--explain", sql, "--param", "7"]);
    assert_eq!(
        explain("SELECT a FROM t WHERE a = ?"),
        "SCAN t\nadvice: t reads every row: an index on a may help\n"
    );
    program.ok(&["query", "t.db", "CREATE INDEX t_a ON t (a)"]);
    let found = explain("SELECT a FROM t WHERE a = ?");
    assert_eq!(found, "SEARCH t USING COVERING INDEX t_a (a=?)\n");
    // It does not run.
    program.ok(&["query", "t.db", "--explain", "DELETE FROM t"]);
    assert_eq!(
        program.ok(&["query", "t.db", "SELECT count(*) AS n FROM t", "-f", "csv"]),
        "n\n2\n"
    );
    program.fails(1, "without the word EXPLAIN", &["query", "t.db", "--explain", "VACUUM"]);
}

#[test]
fn a_file_is_opened_by_its_name() {
    let program = Program::new();
    program.file("t.csv", "a\n1\n");
    for name in ["backup-04:00.db", "./a:b.db", "what?.db", "50%.db", "a%20b.db", "c#.db"] {
        let path = program.path(name);
        program.ok(&["import", "new.db", "t.csv"]);
        std::fs::rename(program.path("new.db"), path).expect("renames");
        let count = ["query", name, "SELECT count(*) FROM t", "--format", "csv", "--no-header"];
        assert_eq!(program.ok(&count), "1\n");
    }
    program.fails(2, "unknown engine 'nothing'", &["query", "nothing:x.db", "SELECT 1"]);
}
