//! `bobak serve` on a terminal and `bobak studio`: the link that signs a browser in, once.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

use crate::program::Program;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

/// A server in a separate process, and the lines that it shows; killed on drop.
struct Server {
    child: Child,
    lines: Lines<BufReader<File>>,
}

impl Server {
    /// Starts it with a pseudo-terminal as its standard output.
    fn at_a_terminal(program: &Program, arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let terminal = File::options().read(true).write(true).open(path).unwrap();
        let child = Self::command(program, arguments).stdout(terminal).spawn().unwrap();
        Self { child, lines: BufReader::new(File::from(ours)).lines() }
    }

    /// Starts it with a pipe as its standard output.
    fn at_a_pipe(program: &Program, arguments: &[&str], browser: &str) -> Self {
        let mut command = Self::command(program, arguments);
        let mut child = command.env("BROWSER", browser).stdout(Stdio::piped()).spawn().unwrap();
        let output = File::from(std::os::fd::OwnedFd::from(child.stdout.take().unwrap()));
        Self { child, lines: BufReader::new(output).lines() }
    }

    fn command(program: &Program, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bobak"));
        command.args(arguments).current_dir(program.path("")).stdin(Stdio::null());
        command.stderr(Stdio::null());
        command
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("a line").unwrap().trim().to_owned()
    }

    /// The host and the code of the next link.
    fn link(&mut self) -> (String, String) {
        let line = self.line();
        let rest = line.strip_prefix("http://").unwrap_or_else(|| panic!("a link: {line}"));
        let (host, code) = rest.split_once("/studio/#sign-in=").expect("a link to the studio");
        (host.to_owned(), code.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request as a page of the server does.
fn ask(host: &str, method: &str, path: &str, cookie: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: {cookie}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

fn sign_in(host: &str, code: &str) -> String {
    ask(host, "POST", "/session", "", &format!("{{\"code\":\"{code}\"}}"))
}

/// The cookie of a response.
fn cookie(response: &str) -> &str {
    let rest = response.split_once("set-cookie: ").expect("a cookie").1;
    rest.split(';').next().unwrap()
}

#[test]
fn a_terminal_shows_one_address_that_signs_in_once() {
    let program = Program::new();
    let mut server = Server::at_a_terminal(&program, &["serve", "app.db"]);
    let (host, code) = server.link();
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    let page = ask(&host, "GET", "/studio/", "", "");
    assert!(page.starts_with("HTTP/1.1 200") && !page.contains(&code), "{page}");
    let signed_in = sign_in(&host, &code);
    assert!(signed_in.starts_with("HTTP/1.1 201"), "{signed_in}");
    // The administrator may do everything, without a flag.
    let sql = r#"{"sql":"CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT)"}"#;
    let made = ask(&host, "POST", "/sql", cookie(&signed_in), sql);
    assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    // The link is used up; the terminal shows the next one.
    let (again, next) = server.link();
    assert_eq!(again, host);
    let rejected = sign_in(&host, &code);
    assert!(
        rejected.starts_with("HTTP/1.1 401") && rejected.contains("used already"),
        "{rejected}"
    );
    assert!(sign_in(&host, &next).starts_with("HTTP/1.1 201"));
    // Others have no access.
    assert!(ask(&host, "GET", "/tables", "", "").starts_with("HTTP/1.1 401"));
}

#[test]
fn given_listeners_are_shown_before_the_link() {
    let program = Program::new();
    let mut server = Server::at_a_terminal(&program, &["serve", "app.db", "--http", "127.0.0.1:0"]);
    let listening = server.line();
    let address = listening.strip_prefix("listening on http://").expect("an address").to_owned();
    let (host, code) = server.link();
    assert_eq!(host, address);
    assert!(sign_in(&host, &code).starts_with("HTTP/1.1 201"));
    // A log gets no link.
    let options = ["serve", "app.db", "--http", "127.0.0.1:0", "--public-read"];
    let mut server = Server::at_a_pipe(&program, &options, "");
    let address = server.line();
    let host = address.strip_prefix("listening on http://").expect("an address").to_owned();
    let mut server_output = String::new();
    let id = server.child.id().to_string();
    assert!(ask(&host, "GET", "/tables", "", "").starts_with("HTTP/1.1 200"));
    let written = ask(&host, "POST", "/tables/x/rows", "", "{}");
    assert!(written.starts_with("HTTP/1.1 404"), "{written}");
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    while let Some(Ok(line)) = server.lines.next() {
        server_output.push_str(&line);
    }
    assert_eq!(server_output, "");
}

#[test]
fn the_studio_opens_the_browser_by_a_private_file() {
    let program = Program::new();
    let script = "#!/bin/sh\nstat -c %a \"$1\" > mode\ncat \"$1\" > page.new\nmv page.new page\n";
    program.file("browser", script);
    let script = program.path("browser");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&script, mode).unwrap();
    let browser = script.display().to_string();
    let arguments = ["studio", "app.db", "--http", "127.0.0.1:0"];
    let mut server = Server::at_a_pipe(&program, &arguments, &browser);
    assert!(server.line().starts_with("listening on "));
    let (host, code) = server.link();
    while !program.path("page").exists() {
        assert!(server.child.try_wait().unwrap().is_none(), "the server runs");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(program.text("page").contains(&format!("http://{host}/studio/#sign-in={code}")));
    assert_eq!(program.text("mode").trim(), "600");
    assert!(sign_in(&host, &code).starts_with("HTTP/1.1 201"));
    // Without a browser, the link is all.
    let quiet = ["studio", "app.db", "--no-browser", "--http", "127.0.0.1:0"];
    let mut server = Server::at_a_pipe(&program, &quiet, "/nonexistent");
    assert!(server.line().starts_with("listening on "));
    let (host, code) = server.link();
    assert!(sign_in(&host, &code).starts_with("HTTP/1.1 201"));
}

#[test]
fn nothing_is_open_to_others_unasked() {
    let program = Program::new();
    let public = ["serve", "app.db", "--public-read", "--http", "0.0.0.0:0"];
    program.fails(1, "TLS", &public);
    let studio = ["studio", "app.db", "--no-browser", "--http", "0.0.0.0:0"];
    program.fails(1, "TLS", &studio);
    program.fails(1, "run it on a terminal, or run `bobak studio`", &["serve", "app.db"]);
}
