//! `bobak permissions`: edits of the access file, and how a running server applies them.

use crate::program::Program;
use crate::serve::Server;
use bobak::{Db, ErrorKind};

#[test]
fn list_grant_and_revoke() {
    let program = Program::new();
    program.ok(&["permissions", "grant", "access", "clerk", "read on item"]);
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(program.path(name)).expect("is there").permissions().mode() & 0o777
    };
    assert_eq!(mode("access"), 0o600, "it holds hashes");
    let token = program.run(&["token", "till-1", "--role", "clerk"]).out;
    program.file("access", format!("{}# tills\n{token}", program.text("access")));
    program.ok(&[
        "permissions",
        "grant",
        "access",
        "clerk",
        "insert",
        "on",
        "item",
        "where",
        "name = 'a'",
    ]);
    assert_eq!(
        program.ok(&["permissions", "list", "access"]),
        "clerk\n    read on item\n    insert on item where name = 'a'\n  members: token till-1\n\
         admin\n    all on * (built in)\n  members: none\n"
    );
    let again = program.run(&["permissions", "grant", "access", "clerk", "read  on item"]);
    assert!(again.err.contains("already"), "{again:?}");
    program.ok(&["permissions", "revoke", "access", "clerk", "read on item"]);
    program.ok(&["permissions", "grant", "access", "other", "all on *"]);
    program.ok(&["permissions", "revoke", "access", "other"]);
    let text = program.text("access");
    assert_eq!(text, format!("role clerk\n    insert on item where name = 'a'\n# tills\n{token}"));
    for (code, says, arguments) in [
        (1, "expected `on`", &["permissions", "grant", "access", "clerk", "read item"][..]),
        (
            1,
            "unknown permission 'raed'",
            &["permissions", "grant", "access", "clerk", "raed on item"],
        ),
        (1, "built in", &["permissions", "grant", "access", "admin", "read on item"]),
        (1, "role 'nobody' does not exist", &["permissions", "revoke", "access", "nobody"]),
        (1, "it has: insert on item", &["permissions", "revoke", "access", "clerk", "read on x"]),
        (1, "'till-1' has the role 'clerk'", &["permissions", "revoke", "access", "clerk"]),
        (1, "could not read nosuch", &["permissions", "list", "nosuch"]),
        (2, "Usage", &["permissions", "grant", "access", "clerk"]),
    ] {
        program.fails(code, says, arguments);
    }
    assert_eq!(program.text("access"), text, "nothing was changed by a mistake");
}

#[test]
fn running_server_applies_edits() {
    let program = Program::new();
    program.ok(&["permissions", "grant", "access", "clerk", "read on other"]);
    let made = program.run(&["token", "till", "--role", "clerk"]);
    program.file("access", program.text("access") + &made.out);
    let file = format!("sqlite:{}", program.path("app.db").display());
    Db::open(&file).unwrap().execute("CREATE TABLE item (id INTEGER PRIMARY KEY)", ()).unwrap();
    let options = ["app.db", "--listen", "127.0.0.1:0", "--access-file", "access"];
    let server = Server::start(&program, &options);
    let url = format!("bobak://{}/app?token={}", server.place, made.err.trim());
    let seen = |wanted: Result<(), ErrorKind>| {
        let look = || {
            let db = Db::open(&url).map_err(|error| error.kind())?;
            db.dynamic("item").map(|_| ()).map_err(|error| error.kind())
        };
        let looks = |_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            look() == wanted
        };
        assert!((0..600).any(looks), "{wanted:?} was not seen in time: {:?}", look());
    };
    seen(Err(ErrorKind::Schema));
    program.ok(&["permissions", "grant", "access", "clerk", "read on item"]);
    seen(Ok(()));
    program.ok(&["permissions", "revoke", "access", "clerk", "read on item"]);
    seen(Err(ErrorKind::Schema));
}
