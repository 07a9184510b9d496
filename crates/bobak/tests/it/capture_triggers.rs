//! The triggers of change capture, next to those of others and with writers of other roles and schemas.

use crate::archive::ship;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use std::time::Duration;

fn run(db: &Db, texts: &[&str]) {
    for text in texts {
        db.execute(text, ()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// A replica of the tracked tables, in memory.
struct Copy {
    target: Db,
    source: Db,
}

impl Copy {
    fn new(source: &Db) -> Self {
        let target = Db::open("memory:").unwrap();
        let copy = Self { target, source: source.clone() };
        copy.source.replicate_to(&copy.target, &[]).unwrap().begin(|_| {}).unwrap();
        copy
    }

    /// Checks that it equals the source, once it has applied all changes.
    fn check(&self, what: &str) {
        let mut replica = self.source.replicate_to(&self.target, &[]).unwrap();
        while replica.step(Duration::ZERO).unwrap().changes > 0 {}
        replica.check().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// Triggers and foreign keys that change rows of their own table, created after it is tracked, and writes.
const OWN_CHANGES: &[&str] = &[
    "CREATE TRIGGER touch AFTER UPDATE OF a ON t \
     BEGIN UPDATE t SET touched = touched + 1 WHERE id = NEW.id; END",
    "INSERT INTO t VALUES (1, 'x', 0), (2, 'y', 0)",
    "UPDATE t SET a = 'z'",
    "UPDATE t SET a = 'zz' WHERE id = 1",
    "CREATE TRIGGER slug AFTER INSERT ON t BEGIN UPDATE t SET a = lower(a) WHERE id = NEW.id; END",
    "INSERT INTO t VALUES (3, 'ABC', 0)",
    "REPLACE INTO t VALUES (3, 'DEF', 0)",
    "INSERT INTO t VALUES (3, 'GHI', 1) ON CONFLICT (id) DO UPDATE SET a = 'JKL'",
    "CREATE TRIGGER keep AFTER DELETE ON t WHEN OLD.touched < 9 \
     BEGIN INSERT INTO t VALUES (OLD.id, OLD.a, 9); END",
    "DELETE FROM t WHERE id = 2",
    "DELETE FROM t",
    "DELETE FROM t WHERE id = 1",
    "CREATE TRIGGER trace AFTER UPDATE OF id ON t \
     BEGIN INSERT INTO t VALUES (OLD.id, 'moved', 9); END",
    "UPDATE t SET id = 12 WHERE id = 2",
    "CREATE TRIGGER away AFTER UPDATE OF touched ON t WHEN NEW.touched = 50 \
     BEGIN UPDATE t SET id = id + 100 WHERE id = NEW.id; END",
    "UPDATE t SET touched = 50 WHERE id = 12",
    "CREATE TRIGGER gone AFTER UPDATE OF touched ON t WHEN NEW.touched = 60 \
     BEGIN DELETE FROM t WHERE id = NEW.id; END",
    "UPDATE t SET touched = 60 WHERE id = 3",
    "CREATE TRIGGER never AFTER INSERT ON t WHEN NEW.touched = 70 \
     BEGIN DELETE FROM t WHERE id = NEW.id; END",
    "INSERT INTO t VALUES (20, 'never', 70)",
    "INSERT INTO p VALUES (1, 1), (2, 1), (3, 2), (4, 4)",
    "UPDATE p SET id = 10 WHERE id = 1",
    "UPDATE p SET id = id + 20",
    "DELETE FROM p WHERE id < 31",
    "INSERT INTO w VALUES ('a', 1, 'x'), ('b', 1, 'y')",
    "CREATE TRIGGER w AFTER UPDATE OF \"at\" ON w WHEN NEW.\"at\" <> 'T' \
     BEGIN UPDATE w SET \"at\" = 'T' WHERE who = NEW.who AND seq = NEW.seq; END",
    "UPDATE w SET \"at\" = 'z', seq = 2",
    "UPDATE w SET who = 'A' WHERE who = 'a'",
];

/// An AFTER trigger may have changed the row again before the change is logged.
#[test]
fn changes_that_triggers_and_cascades_make_end_with_the_stored_row() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let db = Db::open(&url).unwrap();
    run(
        &db,
        &[
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, touched INT DEFAULT 0)",
            "CREATE TABLE p (id INTEGER PRIMARY KEY, \
             parent INT REFERENCES p (id) ON UPDATE CASCADE ON DELETE CASCADE)",
            "CREATE TABLE w (who TEXT COLLATE NOCASE, seq INT, \"at\" TEXT, PRIMARY KEY (who, seq)) \
             WITHOUT ROWID",
        ],
    );
    db.track_all_tables(TrackOptions::new()).unwrap();
    let (copy, changes) = (Copy::new(&db), folder.path().join("changes"));
    ship(&mut db.archive_to(&changes).unwrap());
    let backup = folder.path().join("backup.db");
    db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    for text in OWN_CHANGES {
        run(&db, &[text]);
        copy.check(text);
    }
    ship(&mut db.archive_to(&changes).unwrap());
    let restored = format!("sqlite:{}", folder.path().join("restored.db").display());
    let options = RestoreOptions::new().changes(&changes, RecoveryTarget::End);
    Db::restore(&backup, &restored, &options).unwrap();
    let restored = Db::open(&restored).unwrap();
    for (table, columns) in
        [("t", "id, a, touched"), ("p", "id, parent"), ("w", "who, seq, \"at\"")]
    {
        let text = format!("SELECT group_concat(json_array({columns})) FROM {table}");
        let rows = |db: &Db| db.sql::<Option<String>>(&text, ()).unwrap();
        assert_eq!(rows(&restored), rows(&db), "{table}");
    }
}

#[test]
fn triggers_of_an_earlier_version_are_replaced_without_a_gap() {
    let db = Db::open("sqlite::memory:").unwrap();
    run(&db, &["CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)"]);
    db.track_table("t", TrackOptions::new()).unwrap();
    let text = "SELECT sql FROM sqlite_schema WHERE name = 'bobak_log_insert_t'";
    let now: Vec<String> = db.sql(text, ()).unwrap();
    let before = now[0].replace("/* bobak: log 2 */ ", "");
    run(&db, &["DROP TRIGGER bobak_log_insert_t", &before, "INSERT INTO t VALUES (1, 'old')"]);
    assert!(!db.is_tracked("t").unwrap());
    assert_eq!(db.changes().unwrap().page().unwrap().changes.len(), 1, "it is still captured");
    assert_eq!(db.track_all_tables(TrackOptions::new()).unwrap(), ["t"]);
    assert!(db.is_tracked("t").unwrap());
    assert_eq!(db.changes().unwrap().page().unwrap().changes.len(), 1, "without a gap");
    assert_eq!(db.sql::<String>(text, ()).unwrap(), now);
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::*;
    use crate::engines::on_postgres;

    fn sql(db: &Db, texts: &[&str]) {
        let engine = db.engine().unwrap();
        let session = engine.session().unwrap();
        for text in texts {
            session.execute(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    fn names(db: &Db) -> Vec<String> {
        let changes = db.changes().unwrap();
        changes.iter().map(|change| format!("{:?}", change.unwrap().after.unwrap())).collect()
    }

    #[test]
    fn writers_may_have_any_search_path() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            let of = |schema: &str| Db::open(&format!("{url}?schema={schema}")).unwrap();
            let schemas = ["a", "b'"];
            for schema in schemas {
                sql(&db, &[&format!("CREATE SCHEMA \"{schema}\"")]);
                let own = of(schema);
                sql(&own, &["CREATE TABLE t (id BIGINT PRIMARY KEY, v TEXT)"]);
                own.track_table("t", TrackOptions::new()).unwrap();
            }
            sql(&of("a"), &["INSERT INTO \"b'\".t VALUES (1, 'of b')"]);
            sql(&db, &["INSERT INTO a.t VALUES (2, 'of a')"]);
            for (schema, value) in schemas.iter().zip(["of a", "of b"]) {
                let names = names(&of(schema));
                assert!(names.len() == 1 && names[0].contains(value), "{schema}: {names:?}");
            }
        });
    }

    #[test]
    fn roles_that_may_write_the_table_need_no_other_permissions() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            let role = format!("w{}", std::process::id());
            sql(
                &db,
                &[
                    "CREATE TABLE t (id BIGINT PRIMARY KEY, v TEXT)",
                    &format!("CREATE ROLE {role}"),
                    &format!("GRANT INSERT, UPDATE ON t TO {role}"),
                ],
            );
            db.track_table("t", TrackOptions::new()).unwrap();
            let engine = db.engine().unwrap();
            let session = engine.session().unwrap();
            let one = |text: &str| session.execute(text, &[]);
            session.control(bobak::engine::TransactionControl::Begin).unwrap();
            one(&format!("SET LOCAL ROLE {role}")).unwrap();
            one("INSERT INTO t VALUES (1, 'new')").unwrap();
            session.control(bobak::engine::TransactionControl::Commit).unwrap();
            drop(session);
            // Nobody else may call the function, which writes to the log with the permissions of its owner.
            let may = "SELECT has_function_privilege(?, 'bobak_log_t()', 'execute')::int::int8";
            assert_eq!(db.sql::<i64>(may, (role.as_str(),)).unwrap(), [0]);
            assert_eq!(names(&db).len(), 1);
            sql(
                &db,
                &["DROP OWNED BY ROLE", "DROP ROLE ROLE"]
                    .map(|text| {
                        text.strip_suffix("ROLE").map(|text| format!("{text}{role}")).unwrap()
                    })
                    .each_ref()
                    .map(String::as_str),
            );
        });
    }

    #[test]
    fn triggers_of_an_earlier_version_are_replaced_without_a_gap() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            sql(&db, &["CREATE TABLE t (id BIGINT PRIMARY KEY, v TEXT)"]);
            db.track_table("t", TrackOptions::new()).unwrap();
            sql(&db, &["ALTER TRIGGER \"!bobak_log\" ON t RENAME TO bobak_log"]);
            sql(&db, &["INSERT INTO t VALUES (1, 'old')"]);
            assert_eq!(names(&db).len(), 1, "it is still captured");
            assert!(!db.is_tracked("t").unwrap());
            assert_eq!(db.track_all_tables(TrackOptions::new()).unwrap(), ["t"]);
            assert!(db.is_tracked("t").unwrap());
            let body = "SELECT prosrc FROM pg_proc WHERE proname = 'bobak_log_t'";
            let body = db.sql::<String>(body, ()).unwrap().remove(0);
            let before = body.replace("/* bobak: log 3 */ ", "");
            let replace =
                "CREATE OR REPLACE FUNCTION bobak_log_t() RETURNS trigger LANGUAGE plpgsql AS";
            sql(&db, &[&format!("{replace} $a${before}$a$")]);
            assert!(!db.is_tracked("t").unwrap());
            assert_eq!(db.track_all_tables(TrackOptions::new()).unwrap(), ["t"]);
            assert!(db.is_tracked("t").unwrap());
            sql(&db, &["INSERT INTO t VALUES (2, 'new')"]);
            assert_eq!(names(&db).len(), 2);
        });
    }

    #[test]
    fn changes_that_triggers_and_cascades_make_follow_what_caused_them() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            sql(
                &db,
                &[
                    "CREATE TABLE t (id BIGINT PRIMARY KEY, a TEXT, touched INT DEFAULT 0)",
                    "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     UPDATE t SET touched = touched + 1 WHERE id = NEW.id; RETURN NULL; END $$",
                    "CREATE FUNCTION touch_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     UPDATE t SET touched = touched + 1; RETURN NULL; END $$",
                    "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     IF OLD.id > 0 THEN INSERT INTO t SELECT id + 1, 'kept', 9 \
                     FROM (VALUES (OLD.id), (OLD.id - 1)) AS v (id) ON CONFLICT DO NOTHING; \
                     END IF; RETURN NULL; END $$",
                    "CREATE TRIGGER a_touch AFTER UPDATE OF a ON t \
                     FOR EACH ROW EXECUTE FUNCTION touch()",
                    "CREATE TRIGGER \"0\" AFTER INSERT ON t FOR EACH ROW \
                     WHEN (NEW.a = 'all') EXECUTE FUNCTION touch_all()",
                    "CREATE TRIGGER keep AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION keep()",
                    "CREATE TABLE p (id BIGINT PRIMARY KEY, \
                     parent BIGINT REFERENCES p ON UPDATE CASCADE ON DELETE CASCADE)",
                ],
            );
            db.track_table("t", TrackOptions::new()).unwrap();
            db.track_table("p", TrackOptions::new()).unwrap();
            let copy = Copy::new(&db);
            for text in [
                "INSERT INTO t VALUES (1, 'x'), (5, 'y')",
                "UPDATE t SET a = 'one' WHERE id = 1",
                "UPDATE t SET a = 'both'",
                "INSERT INTO t VALUES (7, 'all'), (8, 'all'), (9, 'x')",
                "UPDATE t SET id = id + 100, a = 'moved'",
                "DELETE FROM t WHERE id > 101",
                "INSERT INTO p VALUES (1, 1), (2, 1), (3, 2), (4, 4)",
                "UPDATE p SET id = 10 WHERE id = 1",
                "UPDATE p SET id = id + 20",
                "DELETE FROM p WHERE id < 31",
            ] {
                sql(&db, &[text]);
                copy.check(text);
            }
        });
    }

    #[test]
    fn values_of_fixed_length_and_numbers_of_any_length_are_logged_as_they_are_read() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            let table = "CREATE TABLE t (id BIGINT PRIMARY KEY, \"c'\" CHAR(5), v VARCHAR(5), \
                         d code, n NUMERIC, m NUMERIC(30,4))";
            sql(&db, &["CREATE DOMAIN code AS CHAR(4)", table]);
            db.track_table("t", TrackOptions::new()).unwrap();
            let copy = Copy::new(&db);
            sql(
                &db,
                &[
                    "INSERT INTO t VALUES (1, 'ab', 'ab ', 'x', 1.500, 1.5), (2, NULL, NULL, NULL, NULL, NULL)",
                ],
            );
            copy.check("insert");
            sql(&db, &["UPDATE t SET \"c'\" = 'c', d = 'y ', n = 12345678901234567890.123"]);
            copy.check("update");
            let text = "SELECT '<' || old_d || '>' FROM bobak_log_t WHERE old_d IS NOT NULL";
            assert_eq!(db.sql::<String>(text, ()).unwrap(), ["<x   >"]);
        });
    }

    const FORMATS: &[&str] = &[
        "SET LOCAL datestyle = 'SQL, DMY'",
        "SET LOCAL timezone = 'Asia/Tokyo'",
        "SET LOCAL intervalstyle = 'postgres_verbose'",
        "SET LOCAL extra_float_digits = -5",
        "SET LOCAL bytea_output = 'escape'",
    ];

    #[test]
    fn values_that_are_kept_as_texts_have_the_format_of_bobak_not_of_the_writer() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            let table = "CREATE TABLE t (id BIGINT PRIMARY KEY, a DATE[], b TIMESTAMPTZ[], \
                         c TSTZRANGE, d INTERVAL, e FLOAT8[], f POINT, g BYTEA[], h TIME[], \
                         i TIMESTAMP(3)[], j NUMERIC(10,2)[], k NUMERIC(30,4)[], l VARCHAR(3)[])";
            sql(&db, &[table]);
            db.track_table("t", TrackOptions::new()).unwrap();
            let copy = Copy::new(&db);
            let engine = db.engine().unwrap();
            let session = engine.session().unwrap();
            let insert = "INSERT INTO t VALUES (1, '{2024-02-01}', '{2024-02-01 10:00Z}', \
                          '[2024-02-01 10:00Z,)', '1 day 02:03:04', '{0.123456789012345}', \
                          '(0.123456789012345,1)', ARRAY['a'::BYTEA], '{10:00}', '{2024-02-01}', \
                          '{1.50}', '{1.50}', '{abc,def}')";
            session.control(bobak::engine::TransactionControl::Begin).unwrap();
            for text in FORMATS.iter().chain(&[insert]) {
                session.execute(text, &[]).unwrap();
            }
            session.control(bobak::engine::TransactionControl::Commit).unwrap();
            drop(session);
            copy.check("insert");
            let logged = "SELECT new_a || ' ' || new_d FROM bobak_log_t";
            assert_eq!(db.sql::<String>(logged, ()).unwrap(), ["{2024-02-01} 1 day 02:03:04"]);
            // The settings cost time, so other tables have none.
            sql(&db, &["CREATE TABLE u (id BIGINT PRIMARY KEY, a TEXT, b CHAR(3), c TIMESTAMPTZ)"]);
            db.track_table("u", TrackOptions::new()).unwrap();
            let settings = "SELECT proname || ' ' || array_length(proconfig, 1) FROM pg_proc \
                            WHERE proname IN ('bobak_log_t', 'bobak_log_u') ORDER BY 1";
            assert_eq!(db.sql::<String>(settings, ()).unwrap(), ["bobak_log_t 7", "bobak_log_u 1"]);
        });
    }

    #[test]
    fn partitions_are_not_truncated_unless_they_are_detached() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            sql(
                &db,
                &[
                    "CREATE TABLE t (id BIGINT PRIMARY KEY, v TEXT) PARTITION BY RANGE (id)",
                    "CREATE TABLE a PARTITION OF t FOR VALUES FROM (0) TO (10)",
                    "CREATE TABLE b PARTITION OF t FOR VALUES FROM (10) TO (20)",
                ],
            );
            db.track_table("t", TrackOptions::new()).unwrap();
            let copy = Copy::new(&db);
            sql(
                &db,
                &["INSERT INTO t VALUES (1, 'a'), (11, 'b')", "UPDATE t SET id = 12 WHERE id = 1"],
            );
            copy.check("moved to another partition");
            let engine = db.engine().unwrap();
            let truncate = |name: &str| {
                engine.session().unwrap().execute(&format!("TRUNCATE {name}"), &[]).map(drop)
            };
            for name in ["t", "a", "b"] {
                assert_eq!(truncate(name).unwrap_err().kind(), ErrorKind::Unsupported, "{name}");
            }
            sql(&db, &["ALTER TABLE t DETACH PARTITION a"]);
            truncate("a").unwrap();
            // A later partition, until the table is tracked again.
            sql(&db, &["CREATE TABLE c PARTITION OF t FOR VALUES FROM (20) TO (30)"]);
            sql(&db, &["INSERT INTO t VALUES (21, 'c')"]);
            copy.check("a later partition");
            assert!(!db.is_tracked("t").unwrap());
            db.track_table("t", TrackOptions::new()).unwrap();
            assert!(db.is_tracked("t").unwrap() && truncate("c").is_err());
            copy.check("tracked again");
            db.untrack_table("t").unwrap();
            truncate("t").unwrap();
        });
    }

    #[test]
    fn tables_that_lose_rows_or_get_others_without_triggers_cannot_be_tracked() {
        on_postgres(|url| {
            let db = Db::open(url).unwrap();
            sql(&db, &["CREATE TABLE t (id BIGINT PRIMARY KEY)", "CREATE TABLE u () INHERITS (t)"]);
            let error = db.track_table("t", TrackOptions::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().contains("'u' inherits"), "{error}");
            sql(&db, &["CREATE UNLOGGED TABLE v (id BIGINT PRIMARY KEY)"]);
            let error = db.track_table("v", TrackOptions::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.message().contains("SET LOGGED"), "{error}");
        });
    }
}

#[cfg(feature = "mysql")]
mod mariadb {
    use super::*;

    fn sql(db: &Db, texts: &[&str]) {
        let engine = db.engine().unwrap();
        let session = engine.session().unwrap();
        for text in texts {
            session.execute(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    fn in_zone(db: &Db, zone: &str, text: &str) {
        let body = format!("SET time_zone = '{zone}'; {text}; SET time_zone = '+00:00'");
        let create = format!("CREATE OR REPLACE PROCEDURE zoned() BEGIN {body}; END");
        sql(db, &[&create, "CALL zoned()"]);
    }

    #[test]
    fn tables_without_transactions_cannot_be_tracked() {
        crate::engines::on_mariadb(|url| {
            let db = Db::open(url).unwrap();
            for engine in ["MyISAM", "Aria", "MEMORY", "InnoDB"] {
                let text =
                    format!("CREATE TABLE {engine} (id BIGINT PRIMARY KEY) ENGINE = {engine}");
                db.engine().unwrap().session().unwrap().execute(&text, &[]).unwrap();
                let tracked = db.track_table(engine, TrackOptions::new());
                if engine == "InnoDB" {
                    tracked.unwrap();
                    continue;
                }
                let error = tracked.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                assert!(error.message().contains(engine), "{error}");
            }
            assert_eq!(db.tracked_tables().unwrap(), ["InnoDB"]);
        });
    }

    #[test]
    fn instants_and_long_decimals_are_logged_as_they_are_read() {
        crate::engines::on_mariadb(|url| {
            let db = Db::open(url).unwrap();
            let table = "CREATE TABLE t (id BIGINT PRIMARY KEY, ts TIMESTAMP(3) NULL, \
                         n DECIMAL(20,4), whole DECIMAL(30,0), d DATETIME(6))";
            sql(&db, &[table]);
            db.track_table("t", TrackOptions::new()).unwrap();
            let copy = Copy::new(&db);
            let insert = "INSERT INTO t VALUES (1, '2024-01-01 12:00:00', 1.5, 1200, \
                          '2024-01-01 12:00:00'), (2, NULL, -20, 0, NULL), (3, NULL, 0, NULL, NULL)";
            in_zone(&db, "+05:00", insert);
            copy.check("insert");
            in_zone(&db, "-08:00", "UPDATE t SET n = n / 8, ts = NOW(3)");
            copy.check("update");
            let logged = "SELECT CONCAT(new_ts, ' ', new_n, ' ', new_whole) FROM bobak_log_t";
            let logged = db.sql::<Option<String>>(logged, ()).unwrap();
            assert_eq!(logged[0].as_deref(), Some("2024-01-01 07:00:00.000000 1.5 1200"));
            // Triggers and logs of an earlier version.
            for column in ["old_ts", "new_ts"] {
                let ty = "DATETIME(6) COMMENT 'bobak:timestamp'";
                sql(&db, &[&format!("ALTER TABLE bobak_log_t MODIFY {column} {ty}")]);
            }
            assert!(db.is_tracked("t").unwrap());
            sql(
                &db,
                &["CREATE OR REPLACE TRIGGER bobak_log_insert_t AFTER INSERT ON t FOR EACH ROW \
                   BEGIN UPDATE bobak_feed SET seq = seq + 1; END"],
            );
            assert!(!db.is_tracked("t").unwrap());
            assert_eq!(db.track_all_tables(TrackOptions::new()).unwrap(), ["t"]);
            assert!(db.is_tracked("t").unwrap());
            in_zone(&db, "+05:00", "UPDATE t SET ts = '2024-01-01 12:00:00'");
            copy.check("tracked again");
            // The other type of Bobak's instants.
            sql(&db, &["ALTER TABLE t MODIFY ts DATETIME(6) COMMENT 'bobak:timestamp'"]);
            db.track_table("t", TrackOptions::new()).unwrap();
            in_zone(&db, "+05:00", "UPDATE t SET ts = '2024-01-01 12:00:00'");
            copy.check("another type");
        });
    }
}
