//! The programs: how long they take to compile, how long their source is, and where the compiled ones are.

use crate::cargo;
use crate::failure::{Failure, Outcome};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One of the programs.
pub(super) struct Shop {
    /// As in tables.
    pub name: &'static str,
    /// The folder in `examples/peers`.
    pub folder: &'static str,
    /// The package and its program.
    pub package: &'static str,
    /// Whether one program opens both databases. Otherwise it is compiled for each, by the feature `postgres`.
    pub opens_both: bool,
}

/// CPU seconds of a first build, and of one after a change.
pub(super) struct CompileTimes {
    pub first: f64,
    pub next: f64,
}

/// The shops, Bobak's first.
pub(super) fn shops() -> [Shop; 3] {
    [
        ("Bobak", "bobak", "shop-bobak"),
        ("Diesel", "diesel", "shop-diesel"),
        ("SeaORM", "seaorm", "shop-seaorm"),
    ]
    .map(|(name, folder, package)| Shop { name, folder, package, opens_both: false })
}

/// The blogs, Bobak's first.
pub(super) fn blogs() -> [Shop; 3] {
    [
        ("Bobak", "conduit/bobak", "conduit-bobak"),
        ("toasty", "conduit/toasty", "conduit-toasty"),
        ("SeaORM", "conduit/seaorm", "conduit-seaorm"),
    ]
    .map(|(name, folder, package)| Shop { name, folder, package, opens_both: true })
}

impl Shop {
    fn source(&self) -> PathBuf {
        cargo::root().join("examples/peers").join(self.folder)
    }

    /// The program for SQLite, or for PostgreSQL.
    pub fn program(&self, postgres: bool) -> PathBuf {
        let engine = if postgres { "postgres" } else { "sqlite" };
        let folder = cargo::target().join("peers");
        match self.opens_both {
            true => folder.join(format!("{}-both", self.package)),
            false => folder.join(format!("{}-{engine}", self.package)),
        }
    }

    /// The lines of its source that are neither blank nor a comment.
    pub fn lines(&self) -> usize {
        let files = fs::read_dir(self.source().join("src")).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.map(|text| text.lines().filter(|line| is_code(line)).count()).sum()
    }
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

/// Cargo compiles the crates of a registry for one build, and those in folders, as Bobak's are here, also for the next.
const AS_FROM_A_REGISTRY: [&str; 2] = ["--config", "profile.dev.package.\"*\".incremental = false"];

/// Builds a program for SQLite as `cargo build` does, with all that it depends on, then again after its source has a new time.
pub(super) fn compile_times(shop: &Shop) -> Outcome<CompileTimes> {
    let target = cargo::target().join("peers").join(format!("{}-first", shop.package));
    let _ = fs::remove_dir_all(&target);
    // Downloads are no part of a build.
    cargo_in(shop, &target, &["fetch", "--quiet"])?;
    let build = || {
        let start = cpu_seconds()?;
        cargo_in(shop, &target, &[&["build", "--quiet"], &AS_FROM_A_REGISTRY[..]].concat())?;
        Ok(cpu_seconds()? - start)
    };
    let first = build()?;
    let main = shop.source().join("src/main.rs");
    let changed = File::options().append(true).open(&main);
    changed.and_then(|file| file.set_modified(SystemTime::now())).map_err(|error| {
        Failure::new(format!("{}: {error}", main.display()), "check that it can be written")
    })?;
    let times = CompileTimes { first, next: build()? };
    let _ = fs::remove_dir_all(&target);
    Ok(times)
}

/// Builds the programs to measure.
pub(super) fn release(shop: &Shop) -> Outcome {
    let target = cargo::target().join("peers").join(shop.package);
    let builds: &[bool] = if shop.opens_both { &[false] } else { &[false, true] };
    for &postgres in builds {
        let features: &[&str] = if postgres { &["--features", "postgres"] } else { &[] };
        cargo_in(shop, &target, &[&["build", "--release", "--quiet"], features].concat())?;
        let built = target.join("release").join(shop.package);
        fs::copy(&built, shop.program(postgres)).map_err(|error| {
            Failure::new(format!("{}: {error}", built.display()), "see the disk")
        })?;
    }
    Ok(())
}

fn cargo_in(shop: &Shop, target: &Path, arguments: &[&str]) -> Outcome {
    let mut command = cargo::command(arguments);
    let status = command
        .current_dir(shop.source())
        .env("CARGO_TARGET_DIR", target)
        .status()
        .map_err(|error| cargo::not_started(&error))?;
    if status.success() {
        return Ok(());
    }
    let folder = shop.source();
    Err(Failure::new(
        format!("`cargo {}` in {} ended with {status}", arguments.join(" "), folder.display()),
        "see what the compiler says; Diesel needs libpq-dev",
    ))
}

/// The CPU time of all processes that this one has started and awaited.
fn cpu_seconds() -> Outcome<f64> {
    // The fields behind the name, which is in parentheses: the 14th and 15th are those of children, in hundredths.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    match *ticks {
        [user, system] => Ok((user + system) / 100.0),
        _ => Err(Failure::new(
            "/proc/self/stat has no CPU times",
            "compile times are measured on Linux: add `--run`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_comments_do_not_count() {
        let text = "//! A\n\nfn a() {\n    // why\n    b();\n}\n";
        assert_eq!(text.lines().filter(|line| is_code(line)).count(), 3);
    }

    #[test]
    fn each_program_has_source() {
        for shop in shops().into_iter().chain(blogs()) {
            assert!(shop.lines() > 100, "{}", shop.name);
        }
    }
}
