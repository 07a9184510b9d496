//! Authentication, and changes of the access file.

use crate::shop::{Shop, assert_fails, order};
use bobak_core::{ErrorKind, FieldSet, TransactionControl, Verb, Write};
use bobak_memory::Memory;
use bobak_permissions::{Access, Caller, Policy, hash_password, hash_token, new_token};
use bobak_wire::Credentials;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn token(token: &str) -> Credentials {
    Credentials::Token(token.to_owned())
}

fn user(name: &str, password: &str) -> Credentials {
    Credentials::User { name: name.to_owned(), password: password.to_owned() }
}

#[test]
fn authentication_accepts_known_credentials_only() {
    let (till, hash) = new_token().unwrap();
    assert!(till.starts_with("bobak_") && hash == hash_token(&till));
    let secret = hash_password("secret").unwrap();
    let text = format!("role r\nread on *\nuser ada {secret} roles r\ntoken till {hash} roles r");
    let access = Access::from_text(&text).unwrap();
    assert!(!access.is_empty() && Access::new().is_empty());
    access.add_token("0123456789abcdef").unwrap();
    assert_eq!(access.add_token("short").unwrap_err().kind(), ErrorKind::Config);
    let name = |credentials: &Credentials, trusted| {
        access.authenticate(credentials, trusted).map(|c| (c.name().to_owned(), c.is_operator()))
    };
    let is = |name: &str, operator| (name.to_owned(), operator);
    assert_eq!(name(&token(&till), false).unwrap(), is("till", false));
    assert_eq!(name(&user("ada", "secret"), false).unwrap(), is("ada", false));
    assert_eq!(name(&token("0123456789abcdef"), false).unwrap(), is("operator", true));
    assert_eq!(name(&Credentials::None, true).unwrap(), is("operator", true));
    // Credentials count even if none are needed.
    assert_eq!(name(&token(&till), true).unwrap(), is("till", false));
    let wrong = [
        Credentials::None,
        token("0123456789abcdeg"),
        token(&hash),
        token(""),
        user("ada", "Secret"),
        user("bob", "secret"),
        user("till", &till),
    ];
    for credentials in wrong {
        assert_fails(name(&credentials, false), ErrorKind::Denied);
    }
    assert!(hash_password("").is_err());
}

#[test]
fn expired_token_is_rejected() {
    let shop = Shop::new(Arc::new(Memory::new()));
    let (till, hash) = new_token().unwrap();
    let with = |expires: &str| {
        Access::from_text(&format!(
            "role r\nread, insert on *\ntoken till {hash} roles r {expires}"
        ))
        .unwrap()
    };
    for past in ["expires 2020-01-31", "expires 2020-01-31T12:00:00+02:00"] {
        assert_fails(with(past).authenticate(&token(&till), false), ErrorKind::Denied);
    }
    assert!(with("expires 2999-12-31").authenticate(&token(&till), false).is_ok());
    // A token that expires while it is used.
    let end = jiff::Timestamp::now() + Duration::from_millis(400);
    let caller = with(&format!("expires {end}")).authenticate(&token(&till), false).unwrap();
    let late = shop.by(&caller);
    let session = late.engine.session().unwrap();
    assert!(late.has(&shop.orders, 1).unwrap());
    let begun = late.engine.session().unwrap();
    begun.control(TransactionControl::Begin).unwrap();
    let (table, verb, fields) = (&shop.orders, Verb::Insert, FieldSet::EMPTY);
    begun.write(&Write { table, verb, fields, values: &order(10, "x", 1) }).unwrap();
    while jiff::Timestamp::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_fails(late.has(&shop.orders, 1), ErrorKind::Denied);
    assert_fails(late.engine.tables(), ErrorKind::Denied);
    assert_fails(session.control(TransactionControl::Begin), ErrorKind::Denied);
    // Its open transaction cannot be committed.
    assert_fails(begun.control(TransactionControl::Commit), ErrorKind::Denied);
    drop((begun, session));
    assert!(!shop.by(&Caller::operator()).has(&shop.orders, 10).unwrap());
    assert_fails(late.engine.session().map(drop), ErrorKind::Denied);
    assert!(!caller.can_see("shop"));
}

#[test]
fn changed_access_file_is_read_again() {
    let shop = Shop::new(Arc::new(Memory::new()));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.txt");
    let (till, hash) = new_token().unwrap();
    let write = |grants: &str| {
        fs::write(&file, format!("role r\n{grants}\ntoken till {hash} roles r\n")).unwrap();
    };
    write("read on orders");
    let access = Access::from_file(&file).unwrap();
    access.add_user("ada", &hash_password("x").unwrap(), &["r".to_owned()]).unwrap();
    let caller = access.authenticate(&token(&till), false).unwrap();
    let till_here = shop.by(&caller);
    assert_fails(till_here.insert_order(10, "x", 1), ErrorKind::Denied);
    write("read, insert on orders");
    access.reload().unwrap();
    till_here.insert_order(10, "x", 1).unwrap();
    access.authenticate(&user("ada", "x"), false).expect("added users stay");
    // An invalid file changes nothing.
    write("read, nonsense on orders");
    let error = access.reload().unwrap_err();
    assert!(
        error.to_string().contains("access.txt: line 2: unknown permission 'nonsense'"),
        "{error}"
    );
    till_here.insert_order(11, "x", 1).unwrap();
    // Without a reload, within some seconds.
    fs::write(&file, "# nobody\nrole r\n").unwrap();
    let begun = Instant::now();
    while till_here.has(&shop.orders, 1).is_ok() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_fails(till_here.has(&shop.orders, 1), ErrorKind::Denied);
    assert_fails(access.authenticate(&token(&till), false), ErrorKind::Denied);
    assert!(Access::from_file(folder.path().join("nosuch")).is_err());
}

#[test]
fn invalid_access_file_is_logged_without_requests() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.txt");
    fs::write(&file, "role r\nread on orders\n").unwrap();
    let access = Access::from_file(&file).unwrap();
    let (sender, log) = std::sync::mpsc::channel();
    access.log(move |line| drop(sender.send(line.to_owned())));
    access.watch().unwrap();
    // Atomically: half a file would be another error.
    let new = folder.path().join("new.txt");
    fs::write(&new, "role r\nread, nonsense on orders\n").unwrap();
    fs::rename(&new, &file).unwrap();
    let line = log.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(line.contains("permissions are unchanged") && line.contains("'nonsense'"), "{line}");
    // Logged once, and once more when the file is removed.
    fs::remove_file(&file).unwrap();
    let line = log.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(line.contains("access.txt"), "{line}");
    let again = log.recv_timeout(Duration::from_millis(2_500));
    assert!(again.is_err(), "{again:?}");
}

#[test]
fn changed_credentials_are_rejected() {
    let shop = Shop::new(Arc::new(Memory::new()));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.txt");
    let [(old, old_hash), (new, new_hash)] = [new_token().unwrap(), new_token().unwrap()];
    let [first, second] = ["first", "second"].map(|password| hash_password(password).unwrap());
    let write = |token: &str, password: &str| {
        let text = format!(
            "role r\nread on orders\ntoken till {token} roles r\nuser ada {password} roles r\n"
        );
        fs::write(&file, text).unwrap();
    };
    write(&old_hash, &first);
    let access = Access::from_file(&file).unwrap();
    let callers =
        [token(&old), user("ada", "first")].map(|c| access.authenticate(&c, false).unwrap());
    let here = callers.each_ref().map(|caller| shop.by(caller));
    here.iter().for_each(|here| assert!(here.has(&shop.orders, 1).unwrap()));
    write(&new_hash, &second);
    access.reload().unwrap();
    for (caller, here) in callers.iter().zip(&here) {
        assert!(!caller.is_current() && !caller.can_see("shop"));
        assert_fails(here.has(&shop.orders, 1), ErrorKind::Denied);
    }
    for secret in [token(&old), user("ada", "first")] {
        assert_fails(access.authenticate(&secret, false), ErrorKind::Denied);
    }
    for secret in [token(&new), user("ada", "second")] {
        assert!(access.authenticate(&secret, false).unwrap().is_current());
    }
}

#[test]
fn access_file_errors_name_the_line() {
    let hash = new_token().unwrap().1;
    for (text, expected) in [
        ("read on orders", "line 1: a grant must follow a role"),
        ("role r\nrole r", "duplicate role 'r'"),
        ("role admin", "built in"),
        ("role r\nread orders", "line 2: expected `on`, and tables, found 'orders'"),
        ("role r\nread on", "expected a table, found the end"),
        ("role r\nread on a b", "expected the end of the line, found 'b'"),
        ("role r\n\nsql on a where b = 1", "line 3: a row rule applies to"),
        ("role r\nread on a where b ==== 1", "invalid row rule `b ==== 1`"),
        ("user ada plain", "user 'ada' has no valid argon2 password hash"),
        ("user ada", "expected `user NAME HASH`"),
        ("token t abc", "token 't' has no valid token hash"),
        (&format!("token t {hash} roles r"), "'t' has the role 'r', which does not exist"),
        (&format!("token t {hash} expires soon"), "invalid expiry 'soon'"),
        (&format!("token t {hash} with x = y"), "expected an integer, or a text"),
        (&format!("token t {hash}\ntoken t {hash}"), "duplicate token 't'"),
    ] {
        let error = Policy::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let policy = format!(
        "# all\nrole \"odd name\"\n  all on \"a b\", db.*, db.\"c d\" # x\ntoken t {hash} roles \"odd name\", admin"
    );
    let policy = Policy::parse(&policy).unwrap();
    assert_eq!(policy.roles().chain(policy.tokens()).collect::<Vec<_>>(), ["odd name", "t"]);
    assert_eq!(policy.users().count(), 0);
}
