//! The shell commands of the book, run page by page against the built program.
//!
//! A page's `sh` blocks are one script, run by bash in a folder of its own. TCP ports are replaced by free ones, so that
//! tests can run at the same time; after each command that starts a server in the background (a line that ends with
//! ` &`) the script waits until the server listens.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

const HOST: &str = "127.0.0.1:";

#[test]
fn commands_of_the_command_line_page_run() {
    let output = run("command-line");
    for expected in ["John F. Kennedy", r#""airports":3"#, "struct", "DEN"] {
        assert!(output.contains(expected), "'{expected}' is not in:\n{output}");
    }
}

#[test]
fn commands_of_the_server_page_run() {
    let output = run("server");
    for expected in ["134000", "cities", "largest"] {
        assert!(output.contains(expected), "'{expected}' is not in:\n{output}");
    }
}

#[test]
fn commands_of_the_http_page_run() {
    let output = run("http");
    for expected in [r#""name":"Biel","population":56000"#, r#""total":2"#, "Olten,19000"] {
        assert!(output.contains(expected), "'{expected}' is not in:\n{output}");
    }
}

#[test]
fn commands_of_the_permissions_page_run() {
    let output = run("permissions");
    assert!(output.contains("first note") && !output.contains("second note"), "{output}");
}

#[test]
fn commands_of_the_replication_page_run() {
    assert!(run("replication").contains("cities"));
}

#[test]
fn commands_of_the_backup_page_run() {
    let output = run("backup");
    assert!(output.contains("Biel") && output.contains("Thun"), "{output}");
}

/// Runs the commands of a page of the guide, and returns what they print.
fn run(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/guide");
    let text = std::fs::read_to_string(path.join(format!("{page}.md"))).expect("reads the page");
    let folder = tempfile::tempdir().expect("makes a folder");
    let script = script(&with_free_ports(&text));
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_bobak"));
    let programs = programs.parent().expect("is in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", std::env::join_paths(paths).expect("joins paths"))
        .output()
        .expect("runs bash");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{printed}\n{errors}\nof\n{script}", output.status);
    printed
}

/// The page's commands as one script, which stops the servers that it has started.
fn script(page: &str) -> String {
    let mut script = String::from("trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n");
    let mut servers = 0;
    let mut is_shell = false;
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_shell = language == "sh";
        } else if let (true, Some(command)) = (is_shell, line.strip_suffix(" &")) {
            servers += 1;
            let log = format!("server-{servers}.log");
            writeln!(script, "{command} > {log} &").expect("writes to a string");
            // A server that has ended before it listens is a failure.
            writeln!(script, "until grep -q listening {log}; do kill -0 $!; sleep 0.05; done")
                .expect("writes to a string");
        } else if is_shell {
            script.push_str(line);
            script.push('\n');
        }
    }
    script
}

/// The page with free ports in place of those that it names, the same for the same.
fn with_free_ports(page: &str) -> String {
    let mut ports: BTreeMap<&str, String> = BTreeMap::new();
    let mut parts = page.split(HOST);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (port, rest) = part.split_at(digits);
        let free = ports.entry(port).or_insert_with(free_port);
        write!(text, "{HOST}{free}{rest}").expect("writes to a string");
    }
    text
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    listener.local_addr().expect("has an address").port().to_string()
}
