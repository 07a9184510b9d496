//! The studio: its files, and the sessions of browsers. Each test is a point of `docs/security.md`.

use crate::client::{Reply, TOKEN, TestServer, memory};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, hash_password, new_token};
use serde_json::json;
use std::time::Duration;

/// A server, its accounts, and requests as a browser sends them.
struct Browser {
    server: TestServer,
    access: Access,
    origin: String,
}

impl Browser {
    fn new(settings: Settings, access: Access) -> Self {
        let builder = HttpServer::builder().settings(settings).access(access.clone());
        let mut server = TestServer::of(builder.shared_database("main", memory()));
        server.headers.clear();
        let origin = server.base_url.clone();
        Self { server, access, origin }
    }

    fn open() -> Self {
        Self::new(Settings::default(), Access::new())
    }

    fn send(&self, method: &str, path: &str, cookie: &str, body: &str) -> Reply {
        let all =
            [("origin", &*self.origin), ("sec-fetch-site", "same-origin"), ("cookie", cookie)];
        let json = ("content-type", "application/json");
        let headers = all.into_iter().filter(|(_, value)| !value.is_empty());
        let headers: Vec<_> = headers.chain((!body.is_empty()).then_some(json)).collect();
        self.server.ask(method, path, &headers, body)
    }

    /// Signs in, and returns the cookie.
    fn sign_in(&self, body: &serde_json::Value) -> String {
        let reply = self.send("POST", "/session", "", &body.to_string());
        let cookie = reply.ok(201).header("set-cookie");
        cookie.split(';').next().unwrap().to_owned()
    }

    fn sign_in_by_link(&self) -> String {
        self.sign_in(&json!({"code": self.access.new_sign_in_code().unwrap()}))
    }

    fn name(&self) -> String {
        self.server.http.addresses()[0].port().to_string()
    }
}

#[test]
fn a_sign_in_link_works_once() {
    let browser = Browser::open();
    let code = browser.access.new_sign_in_code().unwrap();
    let (sender, used) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    browser.access.on_sign_in(move |access| {
        // The next link is made when one was used.
        let code = access.new_sign_in_code().unwrap();
        sender.lock().unwrap().send(code).unwrap();
    });
    let body = json!({"code": code});
    let cookie = browser.sign_in(&body);
    let again = browser.send("POST", "/session", "", &body.to_string());
    let detail = again.is(401, "Denied").json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("used already") && detail.contains("`bobak serve`"), "{detail}");
    let wrong = browser.send("POST", "/session", "", r#"{"code":"bobak_0000"}"#);
    let detail = wrong.is(401, "Denied").json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("restarted") && detail.contains("`bobak serve`"), "{detail}");
    let client = browser.send("GET", "/session", &cookie, "").ok(200).json();
    assert_eq!(
        client,
        json!({"name": "operator", "anonymous": false, "administrator": true, "sql": "write"})
    );
    let next = browser.sign_in(&json!({"code": used.recv().unwrap()}));
    assert_ne!(next, cookie);
    browser.send("GET", "/tables", &cookie, "").ok(200);
}

#[test]
fn guesses_of_links_are_limited() {
    let mut settings = Settings::default();
    settings.max_failed_logins = 2;
    let browser = Browser::new(settings, Access::new());
    for status in [401, 401, 429] {
        assert_eq!(browser.send("POST", "/session", "", r#"{"code":"x"}"#).status, status);
    }
    // A right one is accepted all the same.
    browser.sign_in_by_link();
}

#[test]
fn cookies_are_for_this_server_and_not_for_scripts() {
    let mut browser = Browser::open();
    let sign_in = |browser: &Browser, host: &str| {
        let code = browser.access.new_sign_in_code().unwrap();
        let body = json!({"code": code}).to_string();
        let headers =
            [("origin", &*browser.origin), ("host", host), ("content-type", "application/json")];
        browser
            .server
            .ask("POST", "/session", &headers, &body)
            .ok(201)
            .header("set-cookie")
            .to_owned()
    };
    let host = browser.origin.strip_prefix("http://").unwrap().to_owned();
    let cookie = sign_in(&browser, &host);
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains("Domain"), "{cookie}");
    // Two servers on one machine do not take each other's cookie.
    assert!(cookie.starts_with(&format!("bobak-session-{}=bobak_", browser.name())), "{cookie}");
    // Under TLS, also of a proxy, the page's origin is https.
    browser.origin = "https://db.example.org".to_owned();
    let cookie = sign_in(&browser, "db.example.org");
    assert!(
        cookie.starts_with("__Host-bobak-session=") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    // A cookie that another host of the domain has set does not replace it.
    let cookie = format!("bobak-session=other; {}", cookie.split(';').next().unwrap());
    let headers =
        [("host", "db.example.org"), ("cookie", &*cookie), ("sec-fetch-site", "same-origin")];
    browser.server.ask("GET", "/session", &headers, "").ok(200);
}

#[test]
fn other_sites_cannot_use_a_session() {
    let browser = Browser::open();
    let cookie = browser.sign_in_by_link();
    let port = browser.name();
    let other_port = format!("http://localhost:{}", port.parse::<u16>().unwrap() ^ 1);
    let row = r#"{"name":"Ada"}"#;
    let path = "/tables/person/rows";
    for (method, origin, site) in [
        ("POST", "https://evil.example", "cross-site"),
        ("POST", &*other_port, "same-site"),
        ("POST", "null", "cross-site"),
        ("POST", "https://evil.example", ""),
        ("POST", "", ""),
        ("POST", "", "none"),
        ("GET", "", "cross-site"),
        ("GET", &*other_port, "same-site"),
    ] {
        let all = [("origin", origin), ("sec-fetch-site", site), ("cookie", &*cookie)];
        let headers = all.into_iter().filter(|(_, value)| !value.is_empty());
        let json = (method == "POST").then_some(("content-type", "application/json"));
        let headers: Vec<_> = headers.chain(json).collect();
        let body = if method == "POST" { row } else { "" };
        browser.server.ask(method, path, &headers, body).is(403, "Denied");
    }
    let rows = browser.send("GET", path, &cookie, "").ok(200).json();
    assert_eq!(rows["rows"], json!([]));
    browser.send("POST", path, &cookie, row).ok(201);
}

#[test]
fn other_sites_cannot_sign_a_browser_in_or_out() {
    let browser = Browser::open();
    let cookie = browser.sign_in_by_link();
    let code = json!({"code": browser.access.new_sign_in_code().unwrap()}).to_string();
    let evil = [("origin", "https://evil.example"), ("content-type", "application/json")];
    browser.server.ask("POST", "/session", &evil, &code).is(403, "Denied");
    let headers = [("origin", "https://evil.example"), ("cookie", &*cookie)];
    browser.server.ask("DELETE", "/session", &headers, "").is(403, "Denied");
    browser.send("POST", "/session", "", &code).ok(201);
}

#[test]
fn a_session_id_is_never_taken_from_the_client() {
    let browser = Browser::open();
    let known = format!("bobak-session-{}=bobak_{}", browser.name(), "0".repeat(48));
    browser.send("GET", "/tables", &known, "").is(401, "Denied");
    let code = json!({"code": browser.access.new_sign_in_code().unwrap()}).to_string();
    let reply = browser.send("POST", "/session", &known, &code);
    let cookie = reply.ok(201).header("set-cookie").split(';').next().unwrap().to_owned();
    assert_ne!(cookie, known);
    browser.send("GET", "/tables", &known, "").is(401, "Denied");
    // Signing in again ends the session before.
    let code = json!({"code": browser.access.new_sign_in_code().unwrap()}).to_string();
    browser.send("POST", "/session", &cookie, &code).ok(201);
    browser.send("GET", "/tables", &cookie, "").is(401, "Denied");
}

#[test]
fn sessions_end() {
    let browser = Browser::open();
    let cookie = browser.sign_in_by_link();
    let reply = browser.send("DELETE", "/session", &cookie, "");
    assert!(reply.ok(204).header("set-cookie").contains("Max-Age=0"), "{reply:?}");
    browser.send("GET", "/tables", &cookie, "").is(401, "Denied");
    let mut settings = Settings::default();
    settings.session_lifetime = Duration::from_millis(1);
    let browser = Browser::new(settings, Access::new());
    let cookie = browser.sign_in_by_link();
    std::thread::sleep(Duration::from_millis(20));
    browser.send("GET", "/tables", &cookie, "").is(401, "Denied");
}

#[test]
fn tokens_and_passwords_sign_in_with_their_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access");
    let (token, hash) = new_token().unwrap();
    let password = hash_password("secret").unwrap();
    let roles = "role r\nread on person\n";
    let accounts = format!("token till {hash} roles r\nuser ada {password} roles r\n");
    std::fs::write(&file, format!("{roles}{accounts}")).unwrap();
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let browser = Browser::new(settings, Access::from_file(&file).unwrap());
    for (body, name) in
        [(json!({"token": token}), "till"), (json!({"user": "ada", "password": "secret"}), "ada")]
    {
        let cookie = browser.sign_in(&body);
        let client = browser.send("GET", "/session", &cookie, "").ok(200).json();
        assert_eq!(
            client,
            json!({"name": name, "anonymous": false, "administrator": false, "sql": "read"})
        );
        let tables = browser.send("GET", "/tables", &cookie, "").ok(200).json();
        assert_eq!(tables["tables"].as_array().unwrap().len(), 1);
        browser.send("POST", "/tables/person/rows", &cookie, r#"{"name":"x"}"#).is(403, "Denied");
        browser.send("GET", "/tables/note", &cookie, "").is(404, "NotFound");
    }
    let cookie = browser.sign_in(&json!({"token": token}));
    // A removed token ends its sessions.
    std::fs::write(&file, roles).unwrap();
    browser.access.reload().unwrap();
    browser.send("GET", "/tables", &cookie, "").is(401, "Denied");
}

#[test]
fn a_wrong_sign_in_says_which_commands_make_credentials() {
    let access = Access::new();
    access.add_user("ada", &hash_password("secret").unwrap(), &["admin".to_owned()]).unwrap();
    let browser = Browser::new(Settings::default(), access);
    for wrong in [
        json!({"token": "wrong"}),
        json!({"user": "ada", "password": "wrong"}),
        json!({"user": "eve", "password": "secret"}),
    ] {
        let reply = browser.send("POST", "/session", "", &wrong.to_string());
        let detail = reply.is(401, "Denied").json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("`bobak token`") && detail.contains("`bobak user`"), "{detail}");
    }
    for wrong in ["{}", r#"{"code":"x","token":"y"}"#, r#"{"user":"ada"}"#, "x", r#"{"x":1}"#] {
        browser.send("POST", "/session", "", wrong).is(400, "Syntax");
    }
    let long = json!({"token": "x".repeat(5_000)}).to_string();
    browser.send("POST", "/session", "", &long).is(413, "OutOfRange");
}

#[test]
fn other_clients_get_challenges_as_before() {
    let browser = Browser::open();
    let reply = browser.server.ask("GET", "/tables", &[], "");
    let challenges: Vec<_> = reply.headers.get_all("www-authenticate").iter().collect();
    assert_eq!(challenges.len(), 2, "{reply:?}");
    let detail = reply.is(401, "Denied").json()["detail"].as_str().unwrap().to_owned();
    for command in ["`bobak token`", "`bobak user`", "`bobak studio`"] {
        assert!(detail.contains(command), "{detail}");
    }
    // The studio asks by itself: no dialog of the browser.
    let reply = browser.server.ask("GET", "/tables", &[("bobak-studio", "1")], "");
    assert!(!reply.is(401, "Denied").headers.contains_key("www-authenticate"));
    // A token that comes along counts, and no cookie.
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", &*bearer), ("cookie", "bobak-session=x")];
    browser.server.ask("GET", "/tables", &headers, "").ok(200);
}

#[test]
fn a_public_server_is_read_only() {
    let access = Access::new();
    access.allow_public_read();
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let browser = Browser::new(settings, access);
    let ask = |browser: &Browser, method: &str, path: &str, body: &str| {
        browser.server.send(method, path, body)
    };
    let client = ask(&browser, "GET", "/session", "").ok(200).json();
    assert_eq!((&client["name"], &client["anonymous"]), (&json!("anonymous"), &json!(true)));
    let cookie = browser.sign_in_by_link();
    browser.send("POST", "/tables/person/rows", &cookie, r#"{"name":"Ada"}"#).ok(201);
    let rows = ask(&browser, "GET", "/tables/person/rows?columns=name", "").ok(200).json();
    assert_eq!(rows["rows"], json!([{"name": "Ada"}]));
    for (method, path, body) in [
        ("POST", "/tables/person/rows", r#"{"name":"x"}"#),
        ("PATCH", "/tables/person/rows/1", r#"{"name":"x"}"#),
        ("DELETE", "/tables/person/rows/1", ""),
        ("PATCH", "/tables/person/rows?filter=id%20%3E%200", r#"{"name":"x"}"#),
        ("DELETE", "/tables/person/rows?filter=id%20%3E%200", ""),
    ] {
        ask(&browser, method, path, body).is(403, "Denied");
    }
    // A wrong token is not an anonymous client.
    let wrong = [("authorization", "Bearer wrong")];
    browser.server.ask("GET", "/tables", &wrong, "").is(401, "Denied");
}

#[test]
fn the_role_public_restricts_what_everybody_reads_and_never_lets_them_write() {
    let role = "role public\nread, write on person where active = true\n";
    let access = Access::from_text(role).unwrap();
    access.allow_public_read();
    let browser = Browser::new(Settings::default(), access);
    let ask = |method: &str, path: &str, body: &str| browser.server.send(method, path, body);
    let cookie = browser.sign_in_by_link();
    for row in [r#"{"name":"Ada"}"#, r#"{"name":"Eve","active":false}"#] {
        browser.send("POST", "/tables/person/rows", &cookie, row).ok(201);
    }
    let tables = ask("GET", "/tables", "").ok(200).json();
    assert_eq!(tables["tables"].as_array().unwrap().len(), 1, "{tables}");
    let rows = ask("GET", "/tables/person/rows?columns=name", "").ok(200).json();
    assert_eq!(rows["rows"], json!([{"name": "Ada"}]));
    ask("POST", "/tables/person/rows", r#"{"name":"x"}"#).is(403, "Denied");
    ask("GET", "/tables/note/rows", "").is(404, "NotFound");
}

#[test]
fn pages_cannot_be_framed_and_run_no_foreign_script() {
    let browser = Browser::open();
    let page = browser.server.get("/studio/");
    let policy = page.ok(200).header("content-security-policy").to_owned();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert_eq!(page.header("cross-origin-opener-policy"), "same-origin");
    // No script, style or event in the text of the page, and nothing from elsewhere.
    for word in ["<style", "style=", "onclick", "onload", "http:", "https:"] {
        assert!(!page.text.contains(word), "{word}");
    }
    assert!(page.text.contains("<script type=\"module\" src=\"bundle.js?v="));
    for path in ["/studio/", "/studio/bundle.js", "/tables", "/nosuch", "/health"] {
        assert_eq!(browser.server.get(path).header("x-content-type-options"), "nosniff", "{path}");
    }
    // What a session shows stays in no cache.
    let cookie = browser.sign_in_by_link();
    let rows = browser.send("GET", "/tables", &cookie, "");
    assert_eq!(rows.ok(200).header("cache-control"), "no-store");
}

#[test]
fn files_are_small_tagged_and_complete() {
    let browser = Browser::open();
    let page = browser.server.get("/studio/");
    let (mut files, mut done) = (vec![String::new()], 0);
    let mut total = 0;
    while let Some(name) = files.get(done).cloned() {
        done += 1;
        let path = format!("/studio/{name}");
        let reply = browser.server.get(&path);
        let tag = reply.ok(200).header("etag").to_owned();
        assert!(browser.server.ask("GET", &path, &[("if-none-match", &tag)], "").status == 304);
        total += reply.text.len();
        // What it refers to is there, too.
        for part in reply.text.split('"') {
            let part = part.strip_prefix("./").unwrap_or(part);
            let (name, query) = part.split_once('?').unwrap_or((part, "v="));
            let is_file = [".js", ".css", ".svg"].iter().any(|end| name.ends_with(end))
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
                && query.starts_with("v=");
            if is_file && !files.iter().any(|file| file == part) {
                files.push(part.to_owned());
            }
        }
    }
    assert!(files.len() > 10, "{files:?}");
    assert!(total < 300_000, "{total} bytes before compression");
    assert!(page.text.len() < 4_000);
    for path in ["/studio/nosuch.js", "/studio/..%2FCargo.toml", "/studio/%2Fetc%2Fpasswd"] {
        browser.server.get(path).is(404, "NotFound");
    }
    browser.server.send("POST", "/studio/", "{}").is(401, "Denied");
}

#[test]
fn the_root_leads_browsers_to_the_studio() {
    let browser = Browser::open();
    let page = browser.server.get("/");
    assert!(page.ok(200).text.contains("Bobak Studio"), "the client follows the redirect");
    browser.server.ask("GET", "/", &[("accept", "application/json")], "").is(406, "Unsupported");
    let mut settings = Settings::default();
    settings.without_studio = true;
    let without = Browser::new(settings, Access::new());
    for path in ["/", "/studio/", "/session"] {
        without.server.get(path).is(404, "NotFound");
    }
}
