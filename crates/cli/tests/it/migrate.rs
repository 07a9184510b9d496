//! `bobak migrate`: written, tried, carried out and undone.

use crate::program::Program;

fn sql(program: &Program, database: &str, statement: &str) {
    let file = program.path(database);
    if !file.exists() {
        std::fs::write(file, "").expect("writes an empty file");
    }
    program.ok(&["query", database, statement]);
}

#[test]
fn a_database_is_brought_to_the_tables_of_another() {
    let program = Program::new();
    sql(&program, "app.db", "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, old TEXT)");
    sql(&program, "app.db", "INSERT INTO item VALUES (1, 'spade', 'x')");
    sql(
        &program,
        "wanted.db",
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER)",
    );
    let diff = ["migrate", "diff", "app.db", "wanted.db", "price"];
    let run = program.run(&[&diff[..], &["--print"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("column item.old is not in the model"), "{}", run.err);
    assert!(run.out.contains("change column item {"), "{}", run.out);
    assert!(run.out.contains("# -- rebuild table item"), "{}", run.out);
    let message = "there is no folder migrations: name another one with --folder, or write the first migration with `bobak \
                   migrate diff`";
    for action in ["up", "status"] {
        program.fails(1, message, &["migrate", action, "app.db"]);
    }
    let written = program.ok(&[&diff[..], &["--drop-columns"]].concat());
    assert_eq!(written.trim().replace('\\', "/"), "migrations/0001_price.migration");
    assert_eq!(program.ok(&["migrate", "status", "app.db"]), "0001_price: pending\n");
    let checked = program.ok(&["migrate", "check", "app.db"]);
    assert_eq!(checked, "0001_price: done on a copy\n");
    assert_eq!(program.ok(&["migrate", "up", "app.db"]), "0001_price: done\n");
    assert_eq!(program.ok(&["migrate", "up", "app.db"]), "");
    let found = program.ok(&["query", "app.db", "SELECT * FROM item", "--format", "csv"]);
    assert_eq!(found, "id,name,price\n1,spade,\n");
    let state = program.ok(&["migrate", "status", "app.db"]);
    assert!(state.starts_with("0001_price: done 2"), "{state}");
    program.fails(1, "would lose data (drop column item.price)", &["migrate", "down", "app.db"]);
    program.fails(1, "pass --allow-loss", &["migrate", "down", "app.db"]);
    let down = ["migrate", "down", "app.db", "--allow-loss"];
    assert_eq!(program.ok(&down), "0001_price: undone\n");
    let baseline = ["migrate", "baseline", "app.db", "0001_price"];
    assert_eq!(program.ok(&baseline), "0001_price: noted as done\n");
}

#[test]
fn a_possible_rename_needs_a_reply() {
    let program = Program::new();
    sql(&program, "app.db", "CREATE TABLE person (id INTEGER PRIMARY KEY, bio TEXT, fax TEXT)");
    sql(&program, "app.db", "INSERT INTO person VALUES (1, 'an analyst', '1')");
    sql(
        &program,
        "wanted.db",
        "CREATE TABLE member (id INTEGER PRIMARY KEY, about TEXT, fax TEXT)",
    );
    sql(&program, "app.db", "CREATE TABLE member (id INTEGER PRIMARY KEY, bio TEXT)");
    let diff = ["migrate", "diff", "app.db", "wanted.db", "about"];
    let question = "is column about of member the renamed bio? There is no terminal to ask: pass \
                    --rename member.bio=about, or --drop member.bio or --keep member.bio";
    program.fails(1, question, &diff);
    assert!(!program.path("migrations").exists());
    sql(&program, "app.db", "DROP TABLE member");
    let question = "is table member the renamed person? There is no terminal to ask: pass \
                    --rename person=member, or --drop person or --keep person";
    program.fails(1, question, &diff);
    let steps = |flags: &[&str]| {
        let run = program.run(&[&diff[..], &["--print"], flags].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    let renames = ["--rename", "person=member", "--rename", "member.bio=about"];
    let renamed = steps(&renames);
    let wanted = "rename table person to member\nrename column member.bio to about\n";
    assert!(renamed.starts_with(wanted), "{renamed}");
    let dropped = steps(&["--rename", "person=member", "--drop", "MEMBER.bio"]);
    assert!(dropped.contains("drop column member.bio\nadd column member {"), "{dropped}");
    let kept = steps(&["--rename", "person=member", "--keep", "member.bio", "--drop-columns"]);
    assert!(!kept.contains("drop column"), "{kept}");
    for (flags, code, sentence) in [
        (["--rename", "person=user"], 1, "'person' cannot be renamed to 'user'"),
        (["--rename", "person"], 2, "expected OLD=NEW, such as member.bio=about"),
        (["--drop", "member.bio"], 1, "'member.bio' cannot be dropped or kept"),
        (["--keep", "members"], 1, "'members' cannot be dropped or kept"),
    ] {
        program.fails(code, sentence, &[&diff[..], &["--print"], &flags].concat());
    }
    program.ok(&[&diff[..], &renames].concat());
    program.ok(&["migrate", "up", "app.db"]);
    let found = program.ok(&["query", "app.db", "SELECT * FROM member", "--format", "csv"]);
    assert_eq!(found, "id,about,fax\n1,an analyst,1\n");
}

#[cfg(unix)]
#[test]
fn a_served_database_is_migrated_where_it_is_stored() {
    let program = Program::new();
    sql(&program, "app.db", "CREATE TABLE item (id INTEGER PRIMARY KEY)");
    sql(&program, "wanted.db", "CREATE TABLE item (id INTEGER PRIMARY KEY, price INTEGER)");
    let served = format!("bobak+stdio:{} serve app.db --stdio", env!("CARGO_BIN_EXE_bobak"));
    // The comparison, the state and the trial need no more than to read.
    let diff = ["migrate", "diff", &served, "wanted.db", "price"];
    assert!(program.ok(&diff).ends_with("0001_price.migration\n"));
    assert_eq!(program.ok(&["migrate", "status", &served]), "0001_price: pending\n");
    assert_eq!(program.ok(&["migrate", "check", &served]), "0001_price: done on a copy\n");
    let sentence =
        "migrations do not run through a server: run `bobak migrate` where the database is stored";
    program.fails(1, sentence, &["migrate", "up", &served]);
    program.fails(1, sentence, &["migrate", "down", &served]);
    let names =
        program.ok(&["query", "app.db", "SELECT name FROM sqlite_schema", "--format", "csv"]);
    assert_eq!(names, "name\nitem\n", "there is no table of migrations");
    assert_eq!(program.ok(&["migrate", "up", "app.db"]), "0001_price: done\n");
    assert!(program.ok(&["migrate", "status", &served]).starts_with("0001_price: done"));
}

#[test]
fn a_new_database_is_noted_and_created_only_for_valid_migrations() {
    let program = Program::new();
    std::fs::create_dir(program.path("migrations")).expect("creates");
    program.file("migrations/0001_start.migration", "no migration");
    program.fails(1, "0001_start", &["migrate", "up", "new.db"]);
    assert!(!program.path("new.db").exists());
    std::fs::remove_file(program.path("migrations/0001_start.migration")).expect("removes");
    sql(&program, "wanted.db", "CREATE TABLE item (id INTEGER PRIMARY KEY)");
    sql(&program, "empty.db", "SELECT 1");
    program.ok(&["migrate", "diff", "empty.db", "wanted.db", "start"]);
    let run = program.run(&["migrate", "up", "new.db"]);
    assert_eq!((run.code, run.err.as_str()), (0, "created new.db\n"));
    let run = program.run(&["migrate", "up", "new.db"]);
    assert_eq!((run.code, run.err.as_str()), (0, "nothing to do\n"));
    let message =
        "if the database has what the migration makes, record it with `bobak migrate baseline`";
    program.fails(1, message, &["migrate", "up", "wanted.db"]);
}

#[test]
fn what_no_step_can_make_is_noted() {
    let program = Program::new();
    sql(
        &program,
        "wanted.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT DEFAULT CURRENT_TIMESTAMP)",
    );
    for text in [
        "CREATE UNIQUE INDEX some ON t (a) WHERE b IS NOT NULL",
        "CREATE UNIQUE INDEX lower_a ON t (lower(a))",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t WHERE id = 0; END",
    ] {
        sql(&program, "wanted.db", text);
    }
    let run = program.run(&["migrate", "diff", "sqlite::memory:", "wanted.db", "start"]);
    assert_eq!(run.code, 0, "{}", run.err);
    for what in ["some", "lower_a", "view", "trigger g", "default"] {
        let is_it = |line: &str| {
            line.starts_with("not in the migration, so add it as SQL: ") && line.contains(what)
        };
        assert!(run.err.lines().any(is_it), "{what}: {}", run.err);
    }
    let run = program.run(&["migrate", "diff", "wanted.db", "wanted.db", "none"]);
    assert_eq!(run.err, "nothing to migrate\n");
}

#[test]
fn a_snapshot_file_is_saved() {
    let program = Program::new();
    program.file("t.csv", "id,name\n1,Ann\n");
    program.ok(&["import", "memory:m.bobak", "t.csv", "--table", "t"]);
    std::fs::create_dir(program.path("migrations")).expect("creates");
    let text = "bobak migration 1\nfirst\nup\nrename column t.name to title\ndown\nrename column t.title to name\n";
    program.file("migrations/0001_title.migration", text);
    let columns = || program.ok(&["query", "memory:m.bobak", "SELECT * FROM t", "--format", "csv"]);
    assert_eq!(program.ok(&["migrate", "up", "memory:m.bobak"]), "0001_title: done\n");
    assert!(program.ok(&["migrate", "status", "memory:m.bobak"]).starts_with("0001_title: done"));
    assert!(columns().starts_with("id,title\n"));
    program.ok(&["migrate", "down", "memory:m.bobak"]);
    assert!(columns().starts_with("id,name\n"));
    program.ok(&["migrate", "baseline", "memory:m.bobak", "0001_title"]);
    assert!(program.ok(&["migrate", "status", "memory:m.bobak"]).starts_with("0001_title: done"));
}
