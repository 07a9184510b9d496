//! `bobak serve`: its doors from other processes, its end by signals, and by a kill.

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

/// A server in a process of its own; killed when it is dropped.
pub struct Server {
    child: Child,
    pub place: String,
}

impl Server {
    pub fn start(program: &Program, arguments: &[&str]) -> Self {
        Self::start_telling(program, arguments, Stdio::inherit())
    }

    /// As [`start`](Self::start), with a place for what it says on standard error.
    fn start_telling(program: &Program, arguments: &[&str], errors: Stdio) -> Self {
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
fn a_file_over_a_unix_socket() {
    let program = Program::new();
    let server = Server::start(&program, &["app.db", "--unix", "socket"]);
    let url = format!("bobak+unix:{}", program.path("socket").display());
    let db = open(&url);
    assert_eq!(db.table::<Item>().unwrap().insert(&item("spade")).unwrap(), 1);
    // The commands of the program work on it too.
    let out = program.ok(&["query", &url, "SELECT name FROM item", "--format", "csv"]);
    assert!(out.contains("spade"), "{out}");
    let transaction = db.begin().unwrap();
    transaction.table::<Item>().unwrap().insert(&item("rake")).unwrap();
    server.signal("-TERM");
    // It stops, and lets the transaction end first.
    transaction.commit().unwrap();
    let mut server = server;
    assert!(server.child.wait().unwrap().success());
    assert!(!program.path("socket").exists());
    let db = open(&format!("sqlite:{}", program.path("app.db").display()));
    assert_eq!(db.table::<Item>().unwrap().count(Query::all()).unwrap(), 2);
}

/// A cache at the client: what it keeps costs no round trip, and what another client writes is seen
/// through the feed.
#[test]
fn a_cache_before_the_socket() {
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
fn over_tcp_one_must_be_known() {
    let program = Program::new();
    program.fails(1, "needs a token", &["serve", "app.db", "--listen", "127.0.0.1:0"]);
    program.fails(1, "--token-file", &["serve"]);
    assert!(!program.path("bobak.db").exists(), "what is refused leaves nothing behind");
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
    let doors = ["--listen", "127.0.0.1:0", "--token-file", "tokens", "--access-file", "access"];
    let databases = ["main=app.db", "cache=memory:"];
    let server = Server::start(&program, &[&databases[..], &doors[..]].concat());
    let url = |rest: &str| format!("bobak://{}/{rest}", server.place);
    let refused = |rest: &str| Db::open(&url(rest)).err().map(|error| error.kind());
    for rest in ["main", "main?token=0123456789abcdeF", "main?user=ada&password=Secret"] {
        assert_eq!(refused(rest), Some(ErrorKind::Denied), "{rest}");
    }
    assert_eq!(refused("other?token=0123456789abcdef"), Some(ErrorKind::Config));
    let shown = Db::open(&url("main?token=0123456789abcdef&x=1")).err().unwrap().to_string();
    assert!(!shown.contains("0123456789"), "{shown}");
    let db = open(&url("?token=0123456789abcdef"));
    db.table::<Item>().unwrap().insert(&item("spade")).unwrap();
    let same = open(&url("main?user=ada&password=secret"));
    assert_eq!(same.table::<Item>().unwrap().count(Query::all()).unwrap(), 1);
    // Who may read one table sees nothing else, and writes nothing.
    assert_eq!(refused(&format!("cache?token={token}")), Some(ErrorKind::Config));
    let till = Db::builder().record::<Item>().open(&url(&format!("main?token={token}"))).unwrap();
    let items = till.table::<Item>().unwrap();
    assert_eq!(items.count(Query::all()).unwrap(), 1);
    assert_eq!(items.insert(&item("rake")).unwrap_err().kind(), ErrorKind::Denied);
    // Taken out of the file, it is refused on the connection that it has.
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
}

#[test]
fn a_child_process() {
    let program = Program::new();
    let file = program.path("app.db").display().to_string().replace(' ', "%20");
    let bobak = env!("CARGO_BIN_EXE_bobak").replace(' ', "%20");
    let url = format!("bobak+stdio:{bobak} serve {file} --stdio");
    let db = open(&url);
    let items = db.table::<Item>().unwrap();
    items.insert(&item("spade")).unwrap();
    // One pipe, and still a write beside an iterator.
    for found in items.iter(Query::all()).unwrap() {
        items.insert(&item(&found.unwrap().name)).unwrap();
    }
    assert_eq!(items.count(Query::all()).unwrap(), 2);
    drop((items, db));
    let db = open(&format!("sqlite:{}", program.path("app.db").display()));
    assert_eq!(db.table::<Item>().unwrap().count(Query::all()).unwrap(), 2);
}

/// Killed in the midst of batches: of each that was acknowledged all rows are there, of the last
/// one all or none.
#[test]
fn a_server_that_is_killed() {
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

/// Backups are taken while the server works, and the oldest go.
#[test]
fn backups_by_itself() {
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
    // The folder is gone.
    std::fs::rename(program.path("kept"), program.path("aside")).unwrap();
    for _ in 0..600 {
        if !backups().is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(!backups().is_empty(), "it is made again");
    server.signal("-TERM");
    let mut server = server;
    assert!(server.child.wait().unwrap().success());
    let last = backups().pop().unwrap();
    let copy = open(&format!("sqlite:{}", last.display()));
    assert_eq!(copy.table::<Item>().unwrap().count(Query::all()).unwrap(), 1);
}

/// Changes go to a folder while the server works, also over its kill; with a backup they restore all.
#[test]
fn changes_are_shipped_by_itself() {
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
    // Nothing is tracked when it starts.
    tracked().table::<Item>().unwrap().insert(&item("spade")).unwrap();
    wait_for("the first change", &|| span().contains("sound: 1 changes, behind 0 up to 1"));
    server.child.kill().unwrap();
    drop(server);
    std::fs::remove_file(program.path("socket")).unwrap();
    // Its backup may be older than the table: the next server takes another.
    backup().iter().for_each(|file| std::fs::remove_file(file).unwrap());
    let mut server = Server::start(&program, &flags);
    wait_for("a backup", &|| backup().is_some());
    tracked().table::<Item>().unwrap().insert(&item("rake")).unwrap();
    // What was acknowledged before it stops is shipped.
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
    assert!(span().contains("sound: 2 changes, behind 0 up to 2"), "{}", span());
    let file = backup().unwrap().display().to_string();
    program.ok(&["restore", &file, "sqlite:new.db", "--archive", "kept/app.changes"]);
    let out = program.ok(&["query", "sqlite:new.db", "SELECT name FROM item", "--format", "csv"]);
    assert!(out.contains("spade") && out.contains("rake"), "{out}");
}

/// Nothing is shipped to a folder that is gone: that is said, and it is made again with all changes.
#[test]
fn a_folder_of_changes_that_is_gone_is_told_and_begun_anew() {
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
    wait_for("sound: 1 changes");
    std::fs::rename(program.path("kept"), program.path("aside")).unwrap();
    items.insert(&item("rake")).unwrap();
    wait_for("sound: 2 changes, behind 0 up to 2");
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(
        said.contains("app: the folder kept/app.changes, or the last file in it, was"),
        "{said}"
    );
    server.signal("-TERM");
    assert!(server.child.wait().unwrap().success());
}
