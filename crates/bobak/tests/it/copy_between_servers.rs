//! Copies between servers: what one has and the other lacks is listed before anything is written.

use bobak::copy::CopyOptions;
use bobak::prelude::*;

fn losses(from: &Db, to: &Db) -> Vec<String> {
    let losses = from.copy_losses(to, &[]).unwrap();
    losses.iter().map(ToString::to_string).collect()
}

#[test]
fn values_and_rules_that_a_server_lacks_are_listed() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let options = CopyOptions::new().allow_loss(true).checksum(true);
    let memory = Db::open("memory:").unwrap();
    let file = Db::open("sqlite::memory:").unwrap();
    for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, twice INTEGER AS (a * 2) STORED, x REAL, s TEXT, v)",
        "INSERT INTO t (id, a, x, s, v) VALUES (1, 5, 1e999, 'a' || char(0), 'x'), (2, NULL, 0.5, 'b', 1)",
    ] {
        file.execute(sql, ()).unwrap();
    }
    assert_eq!(losses(&file, &memory), [""; 0]);
    file.copy_to(&memory, &[], &options, |_| {}).unwrap();
    let server = Db::open(&postgres.url()).unwrap();
    let expected = [
        "t: column s: texts with NUL characters become bytes",
        "t: column v: its values are of several types, they become text",
    ];
    assert_eq!(losses(&memory, &server), expected);
    memory.copy_to(&server, &[], &options, |_| {}).unwrap();
    let other = Db::open(&mariadb.url()).unwrap();
    assert_eq!(losses(&server, &other), ["t: column x: infinite numbers make it text"]);
    server.copy_to(&other, &[], &options, |_| {}).unwrap();
    let rows = other.dynamic("t").unwrap().list(Query::all()).unwrap();
    let texts = rows.iter().map(|row| row.get::<String>("x").unwrap()).collect::<Vec<_>>();
    assert_eq!(texts, ["inf", "0.5"]);
    assert_eq!(rows[0].get::<Option<i64>>("twice").unwrap(), Some(10));
}

#[test]
fn a_table_that_a_server_rejects_leaves_none_of_the_others() {
    if std::env::var_os("BOBAK_TEST_MARIADB").is_none() {
        println!("not run: BOBAK_TEST_MARIADB is not set");
        return;
    }
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let (file, server) = (Db::open("sqlite::memory:").unwrap(), Db::open(&mariadb.url()).unwrap());
    let long = format!("INSERT INTO b VALUES ('{}', 1)", "x".repeat(900));
    for sql in [
        "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO a VALUES (1, 'x')",
        "CREATE TABLE b (code VARCHAR(900) PRIMARY KEY, a INTEGER REFERENCES a)",
        &long,
    ] {
        file.execute(sql, ()).unwrap();
    }
    server.execute("CREATE TABLE other (id INT PRIMARY KEY)", ()).unwrap();
    let options = CopyOptions::new().allow_loss(true);
    let error = file.copy_to(&server, &[], &options, |_| {}).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Unsupported, Some("b")), "{error}");
    let tables = server.tables().unwrap();
    let names: Vec<&str> = tables.iter().map(|table| table.name()).collect();
    assert_eq!(names, ["other"]);
}

#[test]
fn values_too_long_for_a_servers_keys_are_found_before_anything_is_written() {
    if std::env::var_os("BOBAK_TEST_MARIADB").is_none() {
        println!("not run: BOBAK_TEST_MARIADB is not set");
        return;
    }
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let (file, server) = (Db::open("sqlite::memory:").unwrap(), Db::open(&mariadb.url()).unwrap());
    let fits = format!("INSERT INTO b VALUES ('{}', '{}')", "é".repeat(700), "x".repeat(900));
    let long = format!("INSERT INTO b VALUES ('{}', 'y')", "é".repeat(701));
    for sql in
        ["CREATE TABLE a (id INTEGER)", "CREATE TABLE b (code TEXT PRIMARY KEY, t TEXT)", &fits]
    {
        file.execute(sql, ()).unwrap();
    }
    assert_eq!(losses(&file, &server), [""; 0]);
    file.execute(&long, ()).unwrap();
    let options = CopyOptions::new().allow_loss(true);
    let error = file.copy_to(&server, &[], &options, |_| {}).unwrap_err();
    assert_eq!(
        (error.kind(), error.table(), error.column()),
        (ErrorKind::TooLong, Some("b"), Some("code"))
    );
    assert!(
        error
            .to_string()
            .contains("values of 1 row are too long: mysql stores at most 700 characters"),
        "{error}"
    );
    assert!(server.tables().unwrap().is_empty());
    // A table that exists has the same limit.
    file.execute("DELETE FROM b WHERE t = 'y'", ()).unwrap();
    file.copy_to(&server, &["b"], &options, |_| {}).unwrap();
    file.execute(&long, ()).unwrap();
    let error = file.copy_to(&server, &["b"], &options.resume(true), |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
}

#[test]
fn a_row_of_many_long_texts_goes_to_mariadb() {
    if std::env::var_os("BOBAK_TEST_MARIADB").is_none() {
        println!("not run: BOBAK_TEST_MARIADB is not set");
        return;
    }
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let (file, server) = (Db::open("sqlite::memory:").unwrap(), Db::open(&mariadb.url()).unwrap());
    let texts: Vec<String> =
        (0..30).map(|number| format!("c{number} VARCHAR(1000) DEFAULT 'd'")).collect();
    let table = format!(
        "CREATE TABLE w (id INTEGER PRIMARY KEY, code VARCHAR(700) UNIQUE, {})",
        texts.join(", ")
    );
    for sql in [&table, "INSERT INTO w (id, code, c29) VALUES (1, 'x', 'y'), (2, NULL, NULL)"] {
        file.execute(sql, ()).unwrap();
    }
    file.copy_to(&server, &[], &CopyOptions::new().checksum(true), |_| {}).unwrap();
    let table = server.dynamic("w").unwrap();
    assert_eq!(table.schema().columns(), file.dynamic("w").unwrap().schema().columns());
    // The limits hold, and one more column fits.
    let mut long = DynRow::new();
    long.set("id", 3).unwrap();
    long.set("c0", "x".repeat(1_001)).unwrap();
    assert_eq!(table.insert(&long).unwrap_err().kind(), ErrorKind::TooLong);
}
