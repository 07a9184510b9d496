//! Steps in SQL: for which engines they are, and what they may have.

use super::on_each_url;
use bobak::migration::Migrations;
use bobak::prelude::*;

const START: &str = "bobak migration 1\nfirst\nup\ncreate table {\"name\":\"t\",\"key\":[\"id\"],\
    \"columns\":[{\"name\":\"id\",\"type\":\"i64\"},{\"name\":\"n\",\"type\":\"i64\",\"nullable\":true}],\"indexes\":[]}\n";

/// The table, with a row, and the migrations that also have these steps.
fn prepare(url: &str, steps: &str) -> (Db, Migrations) {
    let db = Db::open(url).unwrap();
    db.migrate(&Migrations::new([("a", START)]).unwrap()).unwrap();
    db.execute("DELETE FROM t", ()).unwrap();
    db.execute("INSERT INTO t VALUES (1, 1)", ()).unwrap();
    let text = format!("bobak migration 1\nafter a\nup\n{steps}\n");
    (db, Migrations::new([("a", START), ("b", text.as_str())]).unwrap())
}

/// Engines with SQL.
fn on_each_with_sql(test: impl Fn(&str)) {
    on_each_url(|_, url, _| {
        if Db::open(url).unwrap().engine().unwrap().capabilities().sql {
            test(url);
        }
    });
}

fn numbers(db: &Db) -> Vec<i64> {
    db.sql("SELECT n FROM t", ()).unwrap()
}

#[test]
fn engines_have_the_names_of_urls() {
    let steps = |words: &str| format!("sql {words}\nUPDATE t SET n = n + 1;\nend");
    on_each_with_sql(|url| {
        for words in ["mariadb postgresql sqlite firebird", "mysql postgres sqlite firebird", ""] {
            let (db, all) = prepare(url, &steps(words));
            assert_eq!(db.migrate(&all).unwrap(), ["b"]);
            assert_eq!(numbers(&db), [2], "{words}");
            db.execute("DELETE FROM bobak_migrations WHERE name = 'b'", ()).unwrap();
        }
        let (db, all) = prepare(url, &steps("sqllite"));
        let error = db.migrate(&all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        let wanted =
            "migration b, step 1 (sql sqllite): there is no engine 'sqllite'; there are: sqlite, ";
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(numbers(&db), [1]);
    });
}

#[test]
fn statements_that_end_the_transaction_are_rejected_before_the_first_step() {
    on_each_with_sql(|url| {
        for word in ["COMMIT", "-- at last\nrollback", "BEGIN", "START TRANSACTION", "End", "abort"]
        {
            let steps = format!("rename column t.n to m\nsql\nUPDATE t SET m = 2;\n{word};\nend\n");
            let (db, all) = prepare(url, &steps);
            let error = db.migrate(&all).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misuse, "{word}: {error}");
            assert!(error.to_string().contains("a migration has its own"), "{error}");
            assert_eq!(numbers(&db), [1], "the column has its name");
        }
    });
}

#[test]
fn triggers_have_bodies_of_several_lines() {
    let trigger = |engine: &str, head: &str| {
        format!(
            "sql {engine}\nCREATE TRIGGER plus {head}\nBEGIN\n  SET @n = 1;\n  SET @m = 2;\nEND;\nend\n"
        )
    };
    let sqlite =
        trigger("sqlite", "AFTER INSERT ON t").replace("SET @", "UPDATE t SET n = n + 1; -- ");
    let mariadb = trigger("mariadb", "AFTER INSERT ON t FOR EACH ROW");
    let postgres = "sql postgres\nCREATE FUNCTION plus() RETURNS trigger AS $$\nBEGIN\n  NEW.n := 5;\n  RETURN NEW;\n\
        END;\n$$ LANGUAGE plpgsql;\n-- a comment;\nCREATE TRIGGER plus BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION plus();\nend\n";
    on_each_with_sql(|url| {
        if url.starts_with("firebird") {
            return;
        }
        let (db, all) = prepare(url, &format!("{sqlite}{mariadb}{postgres}"));
        assert_eq!(db.migrate(&all).unwrap(), ["b"]);
        db.execute("DELETE FROM t", ()).unwrap();
        db.execute("INSERT INTO t VALUES (2, 1)", ()).unwrap();
        let wanted = if url.starts_with("sqlite") {
            3
        } else if url.starts_with("postgres") {
            5
        } else {
            1
        };
        assert_eq!(numbers(&db), [wanted]);
    });
}

#[test]
fn an_error_names_the_migrations_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (db, _) = prepare(&format!("sqlite:{}", folder.path().join("a.db").display()), "");
    // A byte-order mark is no part of the text.
    let one = "\u{feff}bobak migration 1\nafter a\nup\nrename column t.n to m\ndown\nrename column t.m to n\n";
    let two = "bobak migration 1\nafter b\nup\nsql\nUPDAT t;\nend\ndown\n";
    let all = Migrations::new([("a", START), ("b", one), ("c", two)]).unwrap();
    let error = db.migrate(&all).unwrap_err();
    assert!(error.to_string().ends_with("; carried out before it: b"), "{error}");
    let two = Migrations::new([("a", START), ("b", one)]).unwrap();
    let error = db.undo_migrations(&two, 2, true).unwrap_err();
    assert!(error.to_string().ends_with("no steps that undo it; undone before it: b"), "{error}");
}

#[test]
fn a_check_leaves_steps_in_sql_out_on_servers() {
    on_each_with_sql(|url| {
        let (db, all) = prepare(url, "rename column t.n to m\nsql\nUPDATE t SET m = 2;\nend");
        assert_eq!(db.check_migrations(&all).unwrap(), ["b"]);
        assert_eq!(numbers(&db), [1]);
        for steps in ["sql nosuch\nUPDATE t SET n = 2;\nend", "sql\nCOMMIT;\nend"] {
            let (db, all) = prepare(url, steps);
            assert_eq!(db.check_migrations(&all).unwrap_err().kind(), ErrorKind::Misuse, "{steps}");
        }
    });
}
