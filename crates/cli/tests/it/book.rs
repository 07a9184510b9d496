//! The shell commands of the book, run page by page against the built program.
//!
//! A page's `sh` blocks are one script, run by bash in a folder of its own. TCP ports are replaced by free ones, so that
//! tests can run at the same time; after each command that starts a server in the background (a line that ends with
//! ` &`) the script waits until the server listens.

use std::collections::{BTreeMap, BTreeSet};
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

/// Flags that pages mention and other programs have.
const OTHER_FLAGS: &[&str] = &[
    // cargo and xtask
    "--bin",
    "--blog",
    "--example",
    "--features",
    "--locked",
    "--no-clients",
    "--no-servers",
    "--path",
    "--profile",
    "--release",
    "--seconds",
    "--target",
    // curl
    "--data-binary",
    "--data-urlencode",
    "--fail",
];

#[test]
fn every_flag_that_pages_name_exists() {
    let known = flags_of_commands();
    let of_any = |flag: &String| known.values().any(|flags| flags.contains(flag));
    let mut unknown = BTreeSet::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("reads a page");
        let elsewhere = |flag: &String| OTHER_FLAGS.contains(&flag.as_str());
        for flag in flags(&text).filter(|flag| !of_any(flag) && !elsewhere(flag)) {
            unknown.insert(format!("{flag} in {}", page.display()));
        }
        for (command, arguments) in commands(&text) {
            let Some(own) = known.get(command) else { continue };
            for flag in flags(arguments).filter(|flag| !own.contains(flag) && !elsewhere(flag)) {
                unknown.insert(format!("{flag} of {command} in {}", page.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "no command has these flags: {unknown:#?}");
}

/// The README and the pages of docs/ and of the book.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("docs"), root.join("book/src")];
    let mut pages = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("reads a folder") {
            let path = entry.expect("reads an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The commands in a text, each with what follows it up to the end of its line or code span.
fn commands(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let joined = text.split("bobak ").skip(1);
    joined.filter_map(|rest| {
        let rest = rest.split(['\n', '`', '#']).next()?;
        rest.split_once(' ')
    })
}

/// The flags of each command, as its help lists them.
fn flags_of_commands() -> BTreeMap<String, BTreeSet<String>> {
    let names = commands_in(&help(&["--help"]));
    let all_flags = |name: &String| {
        let own = help(&[name, "--help"]);
        let inner = commands_in(&own).into_iter().filter(|inner| inner != "help");
        let inner = inner.map(|inner| help(&[name, &inner, "--help"]));
        std::iter::once(own.clone())
            .chain(inner)
            .flat_map(|text| flags(&text).collect::<Vec<_>>())
            .collect()
    };
    names.into_iter().map(|name| (name.clone(), all_flags(&name))).collect()
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bobak")).args(arguments).output();
    String::from_utf8(output.expect("runs").stdout).expect("is text")
}

/// The commands that a help text lists.
fn commands_in(help: &str) -> Vec<String> {
    let list = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let list = list.split_once("\n\n").map_or(list, |(list, _)| list);
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// All words of a text that begin with two hyphens and a letter.
fn flags(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let words = text.split(move |c| !is_part(c)).map(|word| word.trim_end_matches('-'));
    let is_flag = |word: &&str| {
        word.strip_prefix("--")
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    words.filter(is_flag).map(str::to_owned)
}
