//! Encrypted files: keys from flags and the environment, and no plain text in any file.

use crate::program::Program;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Text that no file may contain.
const MARKER: &str = "marmota-bobak-marker";

/// Searches every file in the program's folder except the input files.
fn is_nowhere(program: &Program) {
    let mut files = 0;
    for entry in std::fs::read_dir(program.path("")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !entry.path().is_file() || name == "rows.csv" {
            continue;
        }
        let content = std::fs::read(entry.path()).unwrap_or_default();
        let found = content.windows(MARKER.len()).any(|part| part == MARKER.as_bytes());
        assert!(!found, "{MARKER} is in {name:?}");
        files += 1;
    }
    assert!(files > 0);
}

/// A folder with key files, a password file and rows to import.
fn prepared() -> Program {
    let program = Program::new();
    program.file("key", "0123456789abcdef".repeat(4)).file("other", [7; 32]);
    program.file("password", "correct horse\n").file("wrong", "incorrect horse\n");
    let rows: String = (0..2_000).map(|n| format!("{n},{MARKER} {n}\n")).collect();
    program.file("rows.csv", format!("id,text\n{rows}"));
    program
}

const COUNT: [&str; 2] = ["SELECT count(*) AS n FROM item", "--format=csv"];

#[test]
fn keys_from_flags() {
    let program = prepared();
    let with = |flag: &str, file: &str, command: &[&str]| {
        let flags = [flag.to_owned(), file.to_owned()];
        let words: Vec<&str> =
            command.iter().copied().chain(flags.iter().map(String::as_str)).collect();
        program.run(&words)
    };
    let import = ["import", "sqlite:app.db", "rows.csv", "--table", "item"];
    let run = with("--password-file", "password", &import);
    assert_eq!(run.code, 0, "{}", run.err);
    is_nowhere(&program);
    let query = ["query", "sqlite:app.db", COUNT[0], COUNT[1]];
    let run = with("--password-file", "password", &query);
    assert!(run.code == 0 && run.out.contains("2000"), "{} {}", run.out, run.err);
    for (flag, file) in [("--password-file", "wrong"), ("--key-file", "key")] {
        let run = with(flag, file, &query);
        assert!(run.code == 1 && run.err.contains("key"), "{}", run.err);
        assert!(!run.err.contains("horse") && !run.err.contains("panicked"), "{}", run.err);
    }
    program.fails(1, "", &query);

    // Change the key, decrypt, encrypt again.
    let to_key = ["rekey", "sqlite:app.db", "--new-key-file", "other"];
    let run = with("--password-file", "wrong", &to_key);
    assert_eq!(run.code, 1, "{}", run.err);
    let run = with("--password-file", "password", &to_key);
    assert_eq!(run.code, 0, "{}", run.err);
    is_nowhere(&program);
    assert!(with("--key-file", "other", &query).out.contains("2000"));
    let to_cipher = ["rekey", "sqlite:app.db", "--new-key-file", "other", "--cipher", "sqlcipher"];
    let run = with("--key-file", "other", &to_cipher);
    let starts = || std::fs::read(program.path("app.db")).unwrap().starts_with(b"bobakAE1");
    if cfg!(feature = "sqlcipher") {
        assert!(run.code == 0 && !starts(), "{}", run.err);
        let wrong = [&query[..], &["--cipher", "rot13"]].concat();
        assert_eq!(with("--key-file", "other", &wrong).code, 2);
    } else {
        assert!(run.code == 1 && starts() && run.err.contains("sqlcipher"), "{}", run.err);
    }
    assert!(with("--key-file", "other", &query).out.contains("2000"));
    assert_eq!(with("--password-file", "password", &query).code, 1);
    program.ok(&["rekey", "sqlite:app.db?key_file=other", "--decrypt"]);
    assert!(program.ok(&query).contains("2000"));
    program.ok(&["rekey", "sqlite:app.db", "--new-password-file", "password"]);
    is_nowhere(&program);
    assert!(with("--password-file", "password", &query).out.contains("2000"));
    program.fails(2, "--new-key-file", &["rekey", "sqlite:app.db"]);
    let read_only = ["rekey", "sqlite:app.db?mode=ro", "--new-key-file", "other"];
    program.fails(1, "is opened read-only (mode=ro)", &read_only);

    // A backup has the same key; an unencrypted archive needs a flag.
    let run = with("--password-file", "password", &["backup", "sqlite:app.db", "app.backup"]);
    assert_eq!(run.code, 0, "{}", run.err);
    is_nowhere(&program);
    let restore = ["restore", "app.backup", "sqlite:again.db"];
    assert_eq!(with("--password-file", "wrong", &restore).code, 1);
    assert!(!program.path("again.db").exists());
    assert_eq!(with("--password-file", "password", &restore).code, 0);
    let archive = with("--password-file", "password", &["archive", "sqlite:app.db", "changes"]);
    assert!(archive.code == 1 && archive.err.contains("--unencrypted"), "{}", archive.err);
    let serve = ["serve", "app.db", "--unix", "s", "--archive", "changes"];
    let serve = with("--password-file", "password", &serve);
    assert!(serve.code == 1 && serve.err.contains("--archive-unencrypted"), "{}", serve.err);
    is_nowhere(&program);
}

#[test]
fn a_key_encrypts_each_file_or_is_rejected() {
    let program = prepared();
    let import = |url: &str| {
        program.run(&["import", url, "rows.csv", "--table", "item", "--key-file", "key"])
    };
    for url in ["sqlite:with%20blank.db", "memory:with%2Cpercent.bobak"] {
        assert_eq!(import(url).code, 0, "{url}");
        is_nowhere(&program);
    }
    for url in ["kv:a.kv", "sqlite::memory:", "postgres://ada:x1y2@127.0.0.1:1/shop"] {
        let run = import(url);
        assert!(run.code == 2 && run.err.contains("is not encrypted"), "{url}: {}", run.err);
        assert!(!run.err.contains("x1y2"), "{}", run.err);
    }
    // A target without encryption is one that the user names next to the source's own key.
    let copy = ["copy", "sqlite:with%20blank.db", "kv:a.kv", "--key-file", "key"];
    program.fails(2, "write it in that URL", &copy);
    assert!(!program.path("a.kv").exists());
    program.ok(&["copy", "sqlite:with%20blank.db?key_file=key", "kv:a.kv"]);
}

#[test]
fn compressed_backups_of_encrypted_databases() {
    let program = prepared();
    let key = ["--key-file", "key"];
    let with_key = |command: &[&str]| program.run(&[command, &key].concat());
    let run = with_key(&[
        "import",
        "sqlite:app.db",
        "rows.csv",
        "--table",
        "item",
        "--cipher",
        "aegis256",
    ]);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = with_key(&["backup", "app.db", "app.db.zst"]);
    assert!(run.code == 0 && run.err.contains("2000 rows of item"), "{}", run.err);
    is_nowhere(&program);
    let check = ["restore", "--check", "app.db.zst"];
    for flags in [["--key-file", "key"], ["--backup-key-file", "key"]] {
        let run = program.run(&[&check[..], &flags].concat());
        assert!(run.code == 0 && run.err.contains("valid: 2000 rows"), "{}", run.err);
    }
    let error = program.run(&check).err;
    for flag in ["--backup-key-file", "--backup-password-file", "--key-file", "--password-file"] {
        assert!(error.contains(flag), "{error}");
    }
    program.fails(
        1,
        "--key-file",
        &["restore", "app.db.zst", "new.db", "--backup-key-file", "key"],
    );
    assert!(!program.path("new.db").exists());
    let run = with_key(&["restore", "app.db.zst", "new.db"]);
    assert_eq!(run.code, 0, "{}", run.err);
    is_nowhere(&program);
    assert!(with_key(&["query", "new.db", COUNT[0], COUNT[1]]).out.contains("2000"));

    // Snapshots are compressed already.
    let run = with_key(&["import", "memory:m.bobak", "rows.csv", "--table", "item"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let serve =
        ["serve", "memory:m.bobak", "--unix", "s", "--backup", "kept", "--backup-compress", "zstd"];
    let serve = with_key(&serve);
    assert!(serve.code == 2 && serve.err.contains("--backup-compress"), "{}", serve.err);
    assert!(std::fs::read_dir(program.path("kept")).map_or(0, Iterator::count) == 0);
}

#[test]
fn keys_from_the_environment() {
    let program = prepared();
    let run = |variable: &str, value: &str, words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_bobak"))
            .args(words)
            .current_dir(program.path(""))
            .env(variable, value)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let import = ["import", "sqlite:app.db", "rows.csv", "--table", "item"];
    assert!(run("BOBAK_PASSWORD_FILE", "password", &import).0);
    is_nowhere(&program);
    let query = ["query", "sqlite:app.db", COUNT[0], COUNT[1]];
    assert!(run("BOBAK_PASSWORD_FILE", "password", &query).1.contains("2000"));
    assert!(!run("BOBAK_PASSWORD_FILE", "wrong", &query).0);
    assert!(!run("BOBAK_KEY_FILE", "key", &query).0);
    // The URL can name an environment variable with the password.
    let query = ["query", "sqlite:app.db?password_env=SECRET", COUNT[0], COUNT[1]];
    assert!(run("SECRET", "correct horse", &query).1.contains("2000"));
    assert!(!run("SECRET", "incorrect horse", &query).0);
    assert!(!run("OTHER", "correct horse", &query).0);
}

/// A server killed during writes leaves no plain text in any file.
#[test]
#[cfg(unix)]
fn killed_server_leaves_no_plain_text() {
    let program = prepared();
    let mut server = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(["serve", "app.db", "--unix", "socket", "--key-file", "key"])
        .current_dir(program.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("bobak+unix:{}", program.path("socket").display());
    program.ok(&["import", &url, "rows.csv", "--table", "item"]);
    let log = std::fs::metadata(program.path("app.db-wal")).unwrap().len();
    assert!(log > 50_000, "{log} bytes are in the log");
    is_nowhere(&program);
    server.kill().unwrap();
    server.wait().unwrap();
    is_nowhere(&program);
    let query = ["query", "sqlite:app.db", COUNT[0], COUNT[1], "--key-file", "key"];
    assert!(program.ok(&query).contains("2000"));
    is_nowhere(&program);
}

#[test]
fn keys_of_snapshots_and_backups() {
    let program = prepared();
    let with = |flags: &[&str], command: &[&str]| program.run(&[command, flags].concat());
    let (key, wrong) = (["--key-file", "key"], ["--key-file", "other"]);
    let import = ["import", "memory:m.bobak", "rows.csv", "--table", "item"];
    let run = with(&key, &import);
    assert_eq!(run.code, 0, "{}", run.err);
    is_nowhere(&program);
    let query = ["query", "memory:m.bobak", "SELECT count(*) AS n FROM item", "--format=csv"];
    let count = with(&key, &["export", "memory:m.bobak", "--table=item", "--format=csv"]);
    assert!(count.code == 0 && count.out.lines().count() == 2_001, "{}", count.err);
    for run in [with(&wrong, &query), with(&[], &query)] {
        assert!(run.code == 1 && run.err.contains("key"), "{}", run.err);
    }
    assert_eq!(with(&key, &["backup", "memory:m.bobak", "copy.bobak"]).code, 0);
    let check = with(&key, &["restore", "--check", "copy.bobak", "memory:m.bobak"]);
    assert!(check.code == 0 && check.err.contains("valid: 2000 rows"), "{}", check.err);
    assert_eq!(with(&key, &["restore", "copy.bobak", "memory:again.bobak"]).code, 0);
    let rekey = ["rekey", "memory:m.bobak", "--new-password-file", "password"];
    assert_eq!(with(&key, &rekey).code, 0);
    let by_password = ["--password-file", "password"];
    let export = ["export", "memory:m.bobak", "--table=item", "--format=csv"];
    assert_eq!(with(&by_password, &export).out, count.out);
    is_nowhere(&program);

    // The backup of a plain database has a key of its own.
    program.ok(&["import", "sqlite:app.db", "rows.csv", "--table", "item"]);
    let (own, other) = (["--backup-key-file", "key"], ["--backup-password-file", "wrong"]);
    let run = with(&own, &["backup", "sqlite:app.db", "app.db.zst"]);
    assert!(run.code == 0 && run.err.contains("2000 rows"), "{}", run.err);
    let content = std::fs::read(program.path("app.db.zst")).unwrap();
    assert!(content.starts_with(b"BOBAKENC"));
    let check = ["restore", "--check", "app.db.zst"];
    assert!(with(&own, &check).err.contains("valid: 2000 rows"));
    for run in [with(&other, &check), with(&[], &check)] {
        assert!(run.code == 1 && run.err.contains("app.db.zst"), "{}", run.err);
        assert!(!run.err.contains("horse"), "{}", run.err);
    }
    assert_eq!(with(&own, &["restore", "app.db.zst", "sqlite:again.db"]).code, 0);
    assert!(program.ok(&["query", "sqlite:again.db", COUNT[0], COUNT[1]]).contains("2000"));
    // An encrypted database has no other key for its backup.
    program.ok(&["rekey", "sqlite:again.db", "--new-key-file", "key"]);
    let both = [&own[..], &key].concat();
    let run = with(&both, &["backup", "sqlite:again.db", "no.db"]);
    assert!(run.code == 1 && run.err.contains("omit the backup's key"), "{}", run.err);
    assert!(!program.path("no.db").exists());
}
