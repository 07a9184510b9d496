//! `bobak backup` and `bobak restore`.

use crate::program::Program;
use bobak::{Db, Record};
use std::fs;
use std::process::{Command, Stdio};

#[derive(Record)]
struct Item {
    id: i64,
    name: String,
}

fn fill(program: &Program, url: &str, rows: i64) {
    let url = url.replacen(':', &format!(":{}/", program.path("").display()), 1);
    let db = Db::builder().record::<Item>().open(&url).expect("opens");
    db.create_missing_tables().expect("creates");
    for n in 0..rows {
        let item = Item { id: 0, name: format!("item {n}") };
        db.table().expect("is there").insert(&item).expect("inserts");
    }
    db.flush().expect("flushes");
}

fn rows(program: &Program, url: &str) -> String {
    program.ok(&["query", url, "SELECT count(*) AS n FROM item", "--format", "csv"])
}

#[test]
fn backup_and_restore_keep_all_rows() {
    let program = Program::new();
    fill(&program, "sqlite:app.db", 500);
    for file in ["plain.db", "packed.db.zst", "packed.db.gz"] {
        let run = program.run(&["backup", "sqlite:app.db", file]);
        assert!(run.code == 0 && run.err.contains("500 rows of item: "), "{}", run.err);
        let run = program.run(&["restore", "--check", file]);
        assert!(run.code == 0 && run.err.contains("valid: 500 rows"), "{}", run.err);
        program.fails(1, "--overwrite", &["backup", "sqlite:app.db", file]);
        program.ok(&["backup", "sqlite:app.db", file, "--overwrite", "--no-pauses"]);
        program.fails(1, "--overwrite", &["restore", file, "sqlite:app.db"]);
        let target = format!("sqlite:from-{file}.db");
        program.ok(&["restore", file, &target]);
        assert!(rows(&program, &target).contains("500"));
    }
    // --overwrite replaces the database, including what was written since the backup.
    fill(&program, "sqlite:app.db", 3);
    program.ok(&["restore", "packed.db.zst", "sqlite:app.db", "--overwrite"]);
    assert!(rows(&program, "sqlite:app.db").contains("500"));
    let (zstd, plain) = (program.path("packed.db.zst"), program.path("plain.db"));
    assert!(fs::metadata(zstd).unwrap().len() < fs::metadata(plain).unwrap().len() / 2);
    // Snapshots of the memory engine can be backed up too, but not restored to another engine.
    fill(&program, "memory:store.bobak", 7);
    program.ok(&["backup", "memory:store.bobak", "store.gz"]);
    program.ok(&["restore", "store.gz", "memory:again.bobak"]);
    program.fails(1, "another engine", &["restore", "store.gz", "sqlite:other.db"]);
    assert!(!program.path("other.db").exists());
    let left = fs::read_dir(program.path("")).unwrap();
    let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{names:?}");
}

#[test]
fn backup_to_standard_output() {
    let program = Program::new();
    fill(&program, "sqlite:app.db", 20);
    let command = ["backup", "sqlite:app.db", "-", "--compress", "zstd"];
    let run = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(command)
        .current_dir(program.path(""))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(run.status.success());
    program.file("piped", run.stdout);
    program.ok(&["restore", "piped", "sqlite:piped.db"]);
    assert!(rows(&program, "sqlite:piped.db").contains("20"));
}

#[test]
fn invalid_backups_and_restores_are_rejected() {
    let program = Program::new();
    fill(&program, "sqlite:app.db", 5);
    program.fails(1, "none.db does not exist", &["backup", "sqlite:none.db", "backup.db"]);
    program.fails(1, "database itself", &["backup", "sqlite:app.db", "app.db", "--overwrite"]);
    program.fails(1, "No such file", &["backup", "sqlite:app.db", "gone/backup.db"]);
    program.fails(1, "is a folder", &["backup", "sqlite:app.db", "."]);
    program.ok(&["backup", "sqlite:app.db", "good.zst"]);
    let mut bytes = fs::read(program.path("good.zst")).unwrap();
    let cut = bytes.len() - 7;
    program.file("cut.zst", &bytes[..cut]);
    bytes[100] ^= 4;
    program.file("flipped.zst", &bytes);
    program.file("foreign", "hello");
    program.ok(&["backup", "sqlite:app.db", "good.db"]);
    let good = fs::read(program.path("good.db")).unwrap();
    let text = good.windows(6).position(|bytes| bytes == b"item 3").unwrap();
    let mut bytes = good.clone();
    bytes[text + 5] = b'8';
    program.file("flipped.db", &bytes);
    program.file("cut.db", &good[..good.len() - 1]);
    program.file("twice.db", [&good[..], &good].concat());
    for (file, sentence) in [
        ("cut.zst", "truncated"),
        ("flipped.zst", "damaged"),
        ("foreign", "not a backup"),
        ("flipped.db", "checksum differs"),
        ("cut.db", "truncated"),
        ("twice.db", "its end is damaged"),
    ] {
        program.fails(1, sentence, &["restore", "--check", file]);
        program.fails(1, sentence, &["restore", file, "sqlite:app.db", "--overwrite"]);
        assert!(rows(&program, "sqlite:app.db").contains('5'));
    }
    // A backup without a checksum is restored with a note.
    program.file("old.db", &good[..8192]);
    for command in
        [&["restore", "--check", "old.db"][..], &["restore", "old.db", "sqlite:old-app.db"]]
    {
        let run = program.run(command);
        assert!(run.code == 0 && run.err.contains("no checksum: "), "{}", run.err);
    }
    program.fails(1, "is not a file", &["restore", "good.zst", "sqlite::memory:"]);
    program.fails(2, "", &["restore", "good.zst"]);
}

/// A program was killed during a commit in rollback-journal mode: opening for reading rolls it back first.
#[test]
fn interrupted_transaction_is_rolled_back_before_reading() {
    let program = Program::new();
    fill(&program, "sqlite:app.db?journal_mode=delete", 3);
    let leave = |name: &str| {
        let url = format!("sqlite:{}?journal_mode=delete", program.path("app.db").display());
        let db = Db::open(&url).expect("opens");
        let transaction = db.begin().expect("begins");
        // More rows than fit in the page cache.
        let many = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 5000) \
                    INSERT INTO item(name) SELECT hex(zeroblob(600)) FROM c";
        transaction.execute(many, ()).expect("inserts");
        transaction.execute("UPDATE item SET name = 'x'", ()).expect("updates");
        for ending in ["", "-journal"] {
            let from = program.path(&format!("app.db{ending}"));
            fs::copy(from, program.path(&format!("{name}{ending}"))).expect("copies");
        }
    };
    for (name, command) in [
        ("a.db", &["query", "sqlite:a.db", "SELECT count(*) AS n FROM item"][..]),
        ("b.db", &["backup", "sqlite:b.db", "b.bak"]),
        ("c.db", &["schema", "sqlite:c.db"]),
    ] {
        leave(name);
        program.ok(command);
        assert_eq!(rows(&program, &format!("sqlite:{name}")), "n\n3\n");
    }
    leave("d.db");
    program.fails(1, "a program was killed", &["query", "sqlite:d.db?mode=ro", "SELECT 1 AS n"]);
}
