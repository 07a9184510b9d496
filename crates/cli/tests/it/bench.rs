//! `bobak bench`: small runs and their reports.

use crate::program::Program;

#[test]
fn small_run_writes_every_report() {
    let program = Program::new();
    let out = program.ok(&[
        "bench",
        "--rows",
        "50",
        "--repeat",
        "1",
        "--engines",
        "sqlite memory",
        "--cells",
        "batch trans,all direct",
        "--json",
        "r.json",
        "--markdown",
        "r.md",
        "--html",
        "r.html",
    ]);
    assert!(out.contains("sqlite memory") || out.contains("SQLite memory"), "{out}");
    let json: serde_json::Value = serde_json::from_str(&program.text("r.json")).expect("is JSON");
    let cells = json["cells"].as_array().expect("has cells");
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert_eq!(cell["verified"], true, "{cell}");
        assert_eq!(cell["engine"], "sqlite memory");
        assert!(cell["ratio"].as_f64().is_some(), "{cell}");
    }
    assert!(program.text("r.md").contains('|'));
    assert!(program.text("r.html").to_lowercase().contains("<html"));
}

#[test]
fn report_on_standard_output_has_no_other_text() {
    let program = Program::new();
    let run = program.run(&[
        "bench",
        "--quiet",
        "--rows",
        "20",
        "--repeat",
        "1",
        "--engines",
        "sqlite memory",
        "--cells",
        "trans",
        "--json",
        "-",
    ]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    serde_json::from_str::<serde_json::Value>(&run.out).expect("is JSON and nothing else");
}

#[test]
fn crash_report_lists_surviving_commits() {
    let program = Program::new();
    let engines = "sqlite file wal full 8 threads,sqlite file off,memory snapshot";
    let crash = ["bench", "--crash", "--kills", "2", "--cuts", "4", "--engines", engines];
    let reports = ["--json", "r.json", "--markdown", "r.md"];
    let out = program.ok(&[&crash[..], &reports].concat());
    assert!(out.contains("killed") && out.contains("power cut"), "{out}");
    let json: serde_json::Value = serde_json::from_str(&program.text("r.json")).expect("is JSON");
    let rows = json["crashes"].as_array().expect("has crashes");
    assert_eq!(rows.len(), 5, "a snapshot has no power cuts");
    for row in rows {
        assert_eq!(row["kept"], true, "{row}");
        assert_eq!(row["crash"] == "killed", row["per_second"].is_number(), "{row}");
        assert!(row["crash"] != "killed" || row["survived"] == row["acknowledged"], "{row}");
    }
    assert!(program.text("r.md").contains("| memory snapshot | killed | 2 |"));
    let servers = "remote unix wal full,postgres,mariadb";
    program
        .ok(&[&["bench", "--crash", "--kills", "2", "--engines", servers], &reports[..2]].concat());
    let json: serde_json::Value = serde_json::from_str(&program.text("r.json")).expect("is JSON");
    let rows = json["crashes"].as_array().expect("has crashes");
    assert_eq!(rows.len(), 6, "the writer and the server are killed");
    for row in rows {
        assert_eq!((&row["kept"], &row["sound"]), (&true.into(), &2.into()), "{row}");
        assert_eq!(row["survived"], row["acknowledged"], "{row}");
    }
    program.fails(2, "nothing called `x` is crashed", &["bench", "--crash", "--engines", "x"]);
    program.fails(2, "cannot be used with", &["bench", "--crash", "--rows", "5"]);
}

/// The benchmark starts the server in a separate process.
#[cfg(unix)]
#[test]
fn http_is_measured_like_an_engine() {
    let program = Program::new();
    let run = ["bench", "--rows", "200", "--repeat", "1", "--engines", "http", "--json", "r.json"];
    let out = program.ok(&run);
    assert!(out.contains("ndjson import"), "{out}");
    let json: serde_json::Value = serde_json::from_str(&program.text("r.json")).expect("is JSON");
    let cells = json["cells"].as_array().expect("has cells");
    let names: Vec<_> = cells.iter().map(|cell| &cell["cell"]).collect();
    assert_eq!(names, ["by one 64 connections", "direct 64 connections", "ndjson import"]);
    assert!(cells.iter().all(|c| c["verified"] == true && c["ratio"].is_number()), "{cells:?}");
}
