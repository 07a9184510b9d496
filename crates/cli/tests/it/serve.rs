//! `bobak serve`: listeners used from other processes, shutdown by signals, and kills.

use crate::program::Program;
use bobak::cache::CacheOptions;
use bobak::changes::TrackOptions;
use bobak::{Batch, BatchOptions, Db, ErrorKind, Query, Record};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[derive(Record)]
struct Item {
    id: i64,
    name: String,
}

/// A server in a separate process; killed on drop.
pub struct Server {
    child: Child,
    pub place: String,
}

impl Server {
    pub fn start(program: &Program, arguments: &[&str]) -> Self {
        Self::start_telling(program, arguments, Stdio::inherit())
    }

    /// Like [`start`](Self::start), with a destination for standard error.
    pub fn start_telling(program: &Program, arguments: &[&str], errors: Stdio) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bobak"))
            .arg("serve")
            .args(arguments)
            .current_dir(program.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("is piped");
        BufReader::new(output).read_line(&mut line).expect("says where it listens");
        let place = line.trim().strip_prefix("listening on ").expect("says where").to_owned();
        Self { child, place }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().expect("there is a kill");
        assert!(sent.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Item>().open(url).expect("opens");
    db.create_missing_tables().expect("creates");
    db
}

fn item(name: &str) -> Item {
    Item { id: 0, name: name.to_owned() }
}

#[test]
fn serves_file_over_unix_socket() {
    let program = Program::new();
    let server = Server::start(&program, &["app.db", "--unix", "socket"]);
    let url = format!("bobak+unix:{}", program.path("socket").display());
    let db = open(&url);
    assert_eq!(db.table::<Item>().unwrap().insert(&item("spade")).unwrap(), 1);
    // Commands accept the server's URL too.
    let out = program.ok(&["query", &url, "SELECT name FROM item", "--format", "csv"]);
    assert!(out.contains("spade"), "{out}");
    let transaction = db.begin().unwrap();
    transaction.table::<Item>().unwrap().insert(&item("rake")).unwrap();
    server.signal("-TERM");
    // The server waits for the open transaction before it stops.
    transaction.commit().unwrap();
    let mut server = server;
    assert!(server.child.wait().unwrap().success());
    assert!(!program.path("socket").exists());
    let db = open(&format!("sqlite:{}", program.path("app.db").display()));
    assert_eq!(db.table::<Item>().unwrap().count(Query::all()).unwrap(), 2);
}

/// A client-side cache: hits need no round trip, and the change feed invalidates rows that another client writes.
#[test]
fn client_cache_sees_changes_of_others() {
    let program = Program::new();
    let _server = Server::start(&program, &["app.db", "--unix", "socket"]);
    let url = format!("bobak+unix:{}", program.path("socket").display());
    let other = open(&url);
    other.track_table("item", TrackOptions::new()).unwrap();
    let options = CacheOptions::new().watch(Duration::ZERO);
    let db = Db::builder().record::<Item>().cache::<Item>(options).open(&url).unwrap();
    let (items, theirs) = (db.table::<Item>().unwrap(), other.table::<Item>().unwrap());
    let id = items.insert(&item("spade")).unwrap();
    let name = || items.require(id).unwrap().name;
    let hits = || db.cache_stats::<Item>().unwrap().hits;
    assert_eq!((name(), name(), hits()), ("spade".into(), "spade".into(), 1));
    theirs.update(&Item { id, name: "rake".into() }).unwrap();
    assert_eq!((name(), hits()), ("rake".into(), 1));
    items.update(&Item { id, name: "hoe".into() }).unwrap();
    assert_eq!(name(), "hoe");
    assert_eq!(items.list(Query::all()).unwrap().len(), 1);
    assert_eq!((name(), hits()), ("hoe".into(), 2));
    theirs.delete(id).unwrap();
    assert!(items.get(id).unwrap().is_none());
}

#[test]
fn tcp_requires_authentication() {
    let program = Program::new();
    program.fails(1, "needs authentication", &["serve", "app.db", "--listen", "127.0.0.1:0"]);
    program.fails(1, "--token-file", &["serve"]);
    program.fails(1, "serve the parent process with --stdio", &["serve", "app.db"]);
    assert!(!program.path("bobak.db").exists(), "what is rejected leaves nothing behind");
    program.file("tokens", "# ours\n\n0123456789abcdef\n");
    let elsewhere = ["serve", "app.db", "--listen", "0.0.0.0:0", "--token-file", "tokens"];
    program.fails(1, "TLS", &elsewhere);
    let line = program.run_with_input(&["user", "ada", "--role", "admin"], b"secret\n").out;
    assert!(line.starts_with("user ada $argon2id$"), "{line}");
    let made = program.run_with_input(&["token", "till", "--role", "reader"], b"");
    let token = made.err.trim();
    assert!(token.starts_with("bobak_") && !made.out.contains(token), "{}", made.out);
    let role = "role reader\nread on main.item\n";
    program.file("access", format!("{role}{line}{}", made.out));
    let options = ["--listen", "127.0.0.1:0", "--token-file", "tokens", "--access-file", "access"];
    let databases = ["main=app.db", "cache=memory:", "--quiet"];
    let log = std::fs::File::create(program.path("log")).expect("creates");
    let arguments = [&databases[..], &options[..]].concat();
    let server = Server::start_telling(&program, &arguments, log.into());
    let url = |rest: &str| format!("bobak://{}/{rest}", server.place);
    let rejected = |rest: &str| Db::open(&url(rest)).err().map(|error| error.kind());
    for rest in ["main", "main?token=0123456789abcdeF", "main?user=ada&password=Secret"] {
        assert_eq!(rejected(rest), Some(ErrorKind::Denied), "{rest}");
    }
    assert_eq!(rejected("other?token=0123456789abcdef"), Some(ErrorKind::Config));
    let shown = Db::open(&url("main?token=0123456789abcdef&x=1")).err().unwrap().to_string();
    assert!(!shown.contains("0123456789"), "{shown}");
    let db = open(&url("?token=0123456789abcdef"));
    db.table::<Item>().unwrap().insert(&item("spade")).unwrap();
    let same = open(&url("main?user=ada&password=secret"));
    assert_eq!(same.table::<Item>().unwrap().count(Query::all()).unwrap(), 1);
    // A client with read permission on one table sees nothing else and can't write.
    assert_eq!(rejected(&format!("cache?token={token}")), Some(ErrorKind::Config));
    let till = Db::builder().record::<Item>().open(&url(&format!("main?token={token}"))).unwrap();
    let items = till.table::<Item>().unwrap();
    assert_eq!(items.count(Query::all()).unwrap(), 1);
    assert_eq!(items.insert(&item("rake")).unwrap_err().kind(), ErrorKind::Denied);
    // After its token is removed, requests on its open connection are rejected.
    program.file("access", role);
    for _ in 0..600 {
        if items.count(Query::all()).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(items.count(Query::all()).unwrap_err().kind(), ErrorKind::Denied);
    let cache = open(&url("cache?token=0123456789abcdef"));
    assert_eq!(cache.table::<Item>().unwrap().count(Query::all()).unwrap(), 0);
    let log = program.text("log");
    let (time, line) = log.split_once(' ').expect("a line has a time");
    assert!(time.parse::<bobak::types::Timestamp>().is_ok() && time.ends_with('Z'), "{log}");
    assert!(line.contains("127.0.0.1"), "{log}");
    let server = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(["serve", "mistyped.db", "--stdio"])
        .current_dir(program.path(""))
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    // Its parent takes what it says for the reason of its end.
    assert_eq!(String::from_utf8_lossy(&server.stderr), "");
}

#[test]
fn serves_parent_over_stdio() {
    let program = Program::new();
    let file = program.path("app.db").display().to_string().replace(' ', "%20");
    let bobak = env!("CARGO_BIN_EXE_bobak").replace(' ', "%20");
    let url = format!("bobak+stdio:{bobak} serve {file} --stdio");
    let db = open(&url);
    let items = db.table::<Item>().unwrap();
    items.insert(&item("spade")).unwrap();
    // Writes work while an iterator is open on the same pipe.
    for found in items.iter(Query::all()).unwrap() {
        items.insert(&item(&found.unwrap().name)).unwrap();
    }
    assert_eq!(items.count(Query::all()).unwrap(), 2);
    drop((items, db));
    let db = open(&format!("sqlite:{}", program.path("app.db").display()));
    assert_eq!(db.table::<Item>().unwrap().count(Query::all()).unwrap(), 2);
}

/// A server killed during batches: every acknowledged batch is complete, and the last one is there completely or not
/// at all.
#[test]
fn killed_server_keeps_acknowledged_batches() {
    let program = Program::new();
    let mut server = Server::start(&program, &["app.db", "--unix", "socket"]);
    let db = open(&format!("bobak+unix:{}", program.path("socket").display()));
    let send = |rows: usize| {
        let mut batch: Batch<'_> = db.batch(BatchOptions::new().commit_every(0));
        (0..rows).try_for_each(|_| batch.insert(&item("x")))?;
        batch.finish()
    };
    send(1_000).unwrap();
    let mut acknowledged = 1;
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        server
    });
    let error = loop {
        match send(1_000) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    let kinds = [ErrorKind::Unknown, ErrorKind::Unreachable];
    assert!(kinds.contains(&error.kind()), "{error:?}");
    let _server = killer.join().unwrap();
    let db = open(&format!("sqlite:{}", program.path("app.db").display()));
    let rows = db.table::<Item>().unwrap().count(Query::all()).unwrap();
    assert_eq!(rows % 1_000, 0);
    let extra = u64::from(error.kind() == ErrorKind::Unknown);
    assert!((acknowledged..=acknowledged + extra).contains(&(rows / 1_000)), "{rows}");
}

/// Backups are taken while the server runs, and old ones are deleted.
#[test]
fn scheduled_backups_are_taken_and_pruned() {
    let program = Program::new();
    let flags = [
        "app.db",
        "--unix",
        "socket",
        "--backup",
        "kept",
        "--backup-interval",
        "1s",
        "--backup-keep",
        "2",
    ];
    let server = Server::start(&program, &flags);
    let db = open(&format!("bobak+unix:{}", program.path("socket").display()));
    db.table::<Item>().unwrap().insert(&item("spade")).unwrap();
    let backups = || {
        let found = std::fs::read_dir(program.path("kept")).into_iter().flatten().flatten();
        let names = found.map(|entry| entry.path());
        let mut names: Vec<_> =
            names.filter(|p| p.extension().is_some_and(|e| e == "db")).collect();
        names.sort();
        names
    };
    let (mut seen, mut most) = (std::collections::BTreeSet::new(), 0);
    for _ in 0..600 {
        let now = backups();
        most = most.max(now.len());
        seen.extend(now);
        if seen.len() > 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(seen.len() > 3 && most <= 3, "{} at once, {seen:?}", most);
    // The folder disappears.
    std::fs::rename(program.path("kept"), program.path("aside")).unwrap();
    for _ in 0..600 {
        if !backups().is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(!backups().is_empty(), "the backup is taken again");
    server.signal("-TERM");
    let mut server = server;
    assert!(server.child.wait().unwrap().success());
    let last = backups().pop().unwrap();
    let copy = open(&format!("sqlite:{}", last.display()));
    assert_eq!(copy.table::<Item>().unwrap().count(Query::all()).unwrap(), 1);
}

/// Changes are archived while the server runs, even across a kill; with a backup they restore everything.
#[test]
fn changes_are_archived_continuously() {
    let program = Program::new();
    let flags = ["app.db", "--unix", "socket", "--archive", "kept", "--backup", "kept"];
    let url = format!("bobak+unix:{}", program.path("socket").display());
    let tracked = || {
        let db = Db::builder().track::<Item>(TrackOptions::new()).open(&url).expect("opens");
        db.create_missing_tables().expect("creates");
        db
    };
    let span = || program.run(&["archive", "--check", "kept/app.changes"]).err;
    let backup = || {
        let found = std::fs::read_dir(program.path("kept")).into_iter().flatten().flatten();
        let mut names = found.map(|entry| entry.path());
        names.find(|path| path.extension().is_some_and(|ending| ending == "db"))
    };
    let wait_for = |what: &str, is: &dyn Fn() -> bool| {
        for _ in 0..600 {
            if is() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{what}: {}", span());
    };
    let mut server = Server::start(&program, &flags);
    // No table is tracked when the server starts.
    tracked().table::<Item>().unwrap().insert(&item("spade")).unwrap();
    wait_for("the first change", &|| span().contains("valid: 1 changes, after 0 up to 1"));
    server.child.kill().unwrap();
    drop(server);
    std::fs::remove_file(program.path("socket")).unwrap();
    // Its backup may be older than the table; the next server takes another.
    backup().iter().for_each(|file| std::fs::remove_file(file).unwrap());
    let mut server = Server::start(&program, &flags);
    wait_for("a backup", &|| backup().is_some());
    tracked().table::<Item>().unwrap().insert(&item("rake")).unwrap();
    // Changes acknowledged before the shutdown are archived.
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
    assert!(span().contains("valid: 2 changes, after 0 up to 2"), "{}", span());
    let file = backup().unwrap().display().to_string();
    program.ok(&["restore", &file, "sqlite:new.db", "--archive", "kept/app.changes"]);
    let out = program.ok(&["query", "sqlite:new.db", "SELECT name FROM item", "--format", "csv"]);
    assert!(out.contains("spade") && out.contains("rake"), "{out}");
}

/// A missing archive folder is reported and recreated with all changes.
#[test]
fn lost_archive_folder_is_reported_and_recreated() {
    let program = Program::new();
    let said = program.path("said");
    let errors = std::fs::File::create(&said).unwrap();
    let flags = ["app.db", "--unix", "socket", "--archive", "kept"];
    let mut server = Server::start_telling(&program, &flags, errors.into());
    let url = format!("bobak+unix:{}", program.path("socket").display());
    let db = Db::builder().track::<Item>(TrackOptions::new()).open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let items = db.table::<Item>().unwrap();
    let span = || program.run(&["archive", "--check", "kept/app.changes"]).err;
    let wait_for = |what: &str| {
        let found = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            span().contains(what)
        });
        assert!(found, "{what}: {} {}", span(), std::fs::read_to_string(&said).unwrap());
    };
    items.insert(&item("spade")).unwrap();
    wait_for("valid: 1 changes");
    std::fs::rename(program.path("kept"), program.path("aside")).unwrap();
    items.insert(&item("rake")).unwrap();
    wait_for("valid: 2 changes, after 0 up to 2");
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(
        said.contains("app: the folder kept/app.changes, or the last file in it, was"),
        "{said}"
    );
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
}

/// SQL over a served database and attached ones, with the permissions of each.
#[test]
fn attached_databases_are_joined_under_their_permissions() {
    for main in ["app=app.db", "app=memory:"] {
        let program = Program::new();
        let goods = |file: &str, rows: &str| {
            program.file("goods.csv", format!("id,amount\n{rows}"));
            program.ok(&["import", file, "goods.csv"]);
        };
        goods("stock.db", "1,7\n2,8\n");
        goods("secret.db", "1,42\n");
        let roles = [
            ("joiner", "read, sql on app.item, stock.goods"),
            ("owner", "all on app.*"),
            ("ruled", "sql on *\nread on app.item\nread on stock.goods where id = 1"),
        ];
        let (mut access, mut tokens) = (String::new(), Vec::new());
        for (role, grants) in roles {
            let made = program.run(&["token", role, "--role", role]);
            access.push_str(&format!("role {role}\n{grants}\n{}", made.out));
            tokens.push(made.err.trim().to_owned());
        }
        program.file("access", access).file("tokens", "0123456789abcdef\n");
        let attached = ["--attach", "stock=stock.db", "--attach", "secret=secret.db"];
        let keys = ["--listen", "127.0.0.1:0", "--token-file", "tokens", "--access-file", "access"];
        let server = Server::start(&program, &[&[main][..], &attached, &keys].concat());
        let url = |token: &str| format!("bobak://{}/app?token={token}", server.place);
        let db = open(&url("0123456789abcdef"));
        db.table::<Item>().unwrap().insert(&item("spade")).unwrap();
        let join = "SELECT name, amount FROM item JOIN stock.goods AS g ON g.id = item.id";
        let expected = [("spade".to_owned(), 7)];
        assert_eq!(db.sql::<(String, i64)>(join, ()).unwrap(), expected, "{main}");
        let inside = db.transaction(|transaction| {
            transaction.table::<Item>()?.insert(&item("rake"))?;
            transaction.sql::<(String, i64)>(join, ())
        });
        assert_eq!(inside.unwrap().len(), 2, "{main}");
        assert_eq!(db.execute("UPDATE stock.goods SET amount = 9 WHERE id = 1", ()).unwrap(), 1);
        let secret = "SELECT amount FROM secret.goods";
        assert_eq!(db.sql::<(i64,)>(secret, ()).unwrap(), [(42,)]);

        let [joiner, owner, ruled] =
            [0, 1, 2].map(|at: usize| Db::open(&url(&tokens[at])).unwrap());
        assert_eq!(joiner.sql::<(String, i64)>(join, ()).unwrap().len(), 2, "{main}");
        assert_eq!(owner.sql::<(i64,)>("SELECT count(*) FROM item", ()).unwrap(), [(2,)]);
        let denied = |db: &Db, sql: &str| {
            let error = db.sql::<(i64,)>(sql, ()).unwrap_err();
            let kinds = [ErrorKind::Denied, ErrorKind::Schema];
            assert!(kinds.contains(&error.kind()), "{main}: {sql}: {error}");
        };
        denied(&joiner, secret);
        denied(&joiner, "SELECT count(*) FROM secret.goods");
        denied(&joiner, "UPDATE stock.goods SET amount = 1 RETURNING id");
        denied(&joiner, "SELECT count(*) FROM item, secret.goods AS s");
        denied(&owner, "SELECT amount FROM stock.goods");
        denied(&owner, "SELECT count(*) FROM goods");
        assert!(owner.execute("DELETE FROM stock.goods", ()).is_err());
        denied(&ruled, "SELECT amount FROM stock.goods");
        for text in ["ATTACH 'stock.db' AS x", "VACUUM INTO 'copy.db'", "PRAGMA query_only = 0"] {
            assert!(db.execute(text, ()).is_err(), "{main}: {text}");
        }
        assert_eq!(db.sql::<(i64,)>(secret, ()).unwrap(), [(42,)]);
    }
}
