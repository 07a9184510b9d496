//! Points of the OWASP Application Security Verification Standard that no other test shows: see `docs/security.md`.

use crate::client::{TestServer, memory, sqlite};
use crate::log::LogLines;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, hash_password, new_token};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server for browsers, without credentials of its own.
fn server(access: &Access) -> TestServer {
    let builder = HttpServer::builder().access(access.clone());
    let mut server = TestServer::of(builder.shared_database("main", memory()));
    server.headers.clear();
    server
}

fn sign_in(server: &TestServer, body: &serde_json::Value) -> Result<String, u16> {
    let headers = [("content-type", "application/json"), ("origin", server.base_url.as_str())];
    let reply = server.ask("POST", "/session", &headers, &body.to_string());
    let cookie = reply.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    if reply.status == 201 { Ok(cookie) } else { Err(reply.status) }
}

#[test]
fn a_link_that_many_browsers_use_at_once_works_once() {
    let access = Access::new();
    let server = server(&access);
    for _ in 0..10 {
        let code = json!({"code": access.new_sign_in_code().unwrap()});
        let signed_in = AtomicUsize::new(0);
        let attempt = || match sign_in(&server, &code) {
            Ok(_) => drop(signed_in.fetch_add(1, Ordering::Relaxed)),
            Err(status) => assert!(status == 401 || status == 429, "{status}"),
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(attempt))));
        assert_eq!(signed_in.into_inner(), 1);
    }
}

#[test]
fn replayed_tokens_and_cookies_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access");
    let [(token, hash), (_, other)] = [new_token().unwrap(), new_token().unwrap()];
    let password = hash_password("correct horse battery").unwrap();
    let write = |text: String| std::fs::write(&file, format!("role r\nread on *\n{text}")).unwrap();
    write(format!("token till {hash} roles r\nuser ada {password} roles r\n"));
    let access = Access::from_file(&file).unwrap();
    let server = server(&access);
    let status =
        |header: &str, value: &str| server.ask("GET", "/tables", &[(header, value)], "").status;
    let bearer = format!("Bearer {token}");
    let of_token = sign_in(&server, &json!({"token": token})).unwrap();
    let ada = json!({"user": "ada", "password": "correct horse battery"});
    let [of_user, signed_out] = [(); 2].map(|()| sign_in(&server, &ada).unwrap());
    let own = |cookie: &str| {
        let headers = [("cookie", cookie), ("sec-fetch-site", "same-origin")];
        server.ask("GET", "/tables", &headers, "").status
    };
    assert_eq!(
        [own(&of_token), own(&of_user), own(&signed_out), status("authorization", &bearer)],
        [200; 4]
    );
    let headers = [
        ("cookie", signed_out.as_str()),
        ("sec-fetch-site", "same-origin"),
        ("origin", server.base_url.as_str()),
    ];
    server.ask("DELETE", "/session", &headers, "").ok(204);
    assert_eq!([own(&signed_out), own(&of_user)], [401, 200], "the others stay");
    // Another token of the same name, and another password.
    let password = hash_password("another horse battery").unwrap();
    write(format!("token till {other} roles r\nuser ada {password} roles r\n"));
    access.reload().unwrap();
    assert_eq!([own(&of_token), own(&of_user), status("authorization", &bearer)], [401; 3]);
    let elsewhere = self::server(&Access::from_file(&file).unwrap());
    let headers = [("cookie", of_user.as_str()), ("sec-fetch-site", "same-origin")];
    elsewhere.ask("GET", "/tables", &headers, "").is(401, "Denied");
}

#[test]
fn parameters_are_never_sql() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        server.send("POST", "/tables/person/rows", r#"{"name":"a' OR '1'='1"}"#).ok(201);
        for attack in [
            "filter=name%20%3D%20''%3B%20DROP%20TABLE%20person",
            "filter=id%20%3D%201%20UNION%20SELECT%201",
            "filter=(SELECT%20count(*)%20FROM%20note)%20%3E%200",
            "filter=load_extension('x')",
            "order=id%3B%20DELETE%20FROM%20person",
            "columns=id,(SELECT%201)",
            "limit=1&limit=2",
            "order=CASE%20WHEN%201%20THEN%20id%20END",
        ] {
            let reply = server.get(&format!("/tables/person/rows?{attack}"));
            assert!((400..500).contains(&reply.status), "{attack}: {reply:?}");
        }
        let quoted = server.get("/tables/person/rows?filter=name%20%3D%20'a''%20OR%20''1''%3D''1'");
        assert_eq!(quoted.ok(200).json()["rows"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn clients_cannot_forge_lines_of_the_log() {
    let lines = LogLines::default();
    let builder = HttpServer::builder().shared_database("main", sqlite());
    let mut server = TestServer::of(lines.of(builder));
    let name = BASE64.encode("ada\n2026-01-01 root signed in\r\n\u{1b}[31m:wrong");
    server.headers = vec![("authorization".to_owned(), format!("Basic {name}"))];
    server.get("/tables").is(401, "Denied");
    server.get("/tables/a%0A2026-01-01%20root/rows").is(401, "Denied");
    lines.has("127.0.0.1", "status 401");
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    let server = TestServer::of(lines.of(builder));
    server.get("/tables/a%0A2026-01-01%20root/rows").is(404, "NotFound");
    server
        .send("POST", "/sql", r#"{"sql":"DELETE FROM person /* \n2026-01-01 root */"}"#)
        .is(403, "Denied");
    lines.has_no_line_break();
}
