//! The fuzz targets under libFuzzer, each for a bounded time, on stable Rust.
//!
//! What the nightly compiler's `-Zsanitizer=fuzzer` asks of LLVM can be asked of it by stable code generation flags; so
//! neither nightly nor cargo-fuzz is needed, only a C++ compiler for libFuzzer itself.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// Seconds for each target unless said otherwise.
const SECONDS: u64 = 20;
/// Seconds that one input may take: some thousand times what it should.
const TIMEOUT: u64 = 10;
/// MiB that the process may take, libFuzzer's own tables and the sum of leaks included.
const MEMORY: u64 = 1_024;
/// Counters at each edge, and the operands of comparisons: what libFuzzer goes by.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // Branches that are folded into one can't be told apart.
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "--cfg",
    "fuzzing",
];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct FuzzOptions {
    list: bool,
    seconds: u64,
    targets: Vec<String>,
}

/// A target, as the program lists it.
struct Target {
    name: String,
    longest: String,
}

/// Builds the program, and runs the named targets, or all of them; `--list` shows them.
///
/// # Errors
/// When the arguments are others, when there is no C++ compiler, and when a target found something: the input is then
/// in a file that the failure names.
pub fn run(arguments: &[String]) -> Outcome {
    let options = read(arguments)?;
    let program = build()?;
    let all = targets(&program)?;
    if options.list {
        return Ok(());
    }
    let known = |name: &String| all.iter().any(|target| target.name == *name);
    if let Some(name) = options.targets.iter().find(|name| !known(name)) {
        return Err(Failure::new(
            format!("there is no fuzz target `{name}`"),
            "`cargo xtask fuzz --list` shows them",
        ));
    }
    let wanted =
        |target: &&Target| options.targets.is_empty() || options.targets.contains(&target.name);
    let mut found = Vec::new();
    for target in all.iter().filter(wanted) {
        println!("\n== fuzz {}, {} s ==", target.name, options.seconds);
        if !fuzz(&program, target, options.seconds)? {
            found.push(target.name.as_str());
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("found something: {}", found.join(", ")),
        format!(
            "fix it, and add a test next to the decoder; the inputs are in {}, and \
             `BOBAK_FUZZ=run:TARGET {} FILE` runs one again",
            work().join("found").display(),
            program.display()
        ),
    ))
}

fn read(arguments: &[String]) -> Outcome<FuzzOptions> {
    let wrong = || {
        Failure::new(
            format!("`cargo xtask fuzz` does not understand `{}`", arguments.join(" ")),
            "write `cargo xtask fuzz [TARGET…] [--seconds N]`, or `--list`",
        )
    };
    let mut options = FuzzOptions { list: false, seconds: SECONDS, targets: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--list" => options.list = true,
            "--seconds" => {
                let number = words.next().and_then(|number| number.parse().ok());
                options.seconds = number.filter(|seconds| *seconds > 0).ok_or_else(wrong)?;
            }
            flag if flag.starts_with('-') => return Err(wrong()),
            name => options.targets.push(name.to_owned()),
        }
    }
    Ok(options)
}

/// Where everything is that is made.
fn work() -> PathBuf {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| cargo::root().join("target"), PathBuf::from);
    target.join("fuzz")
}

fn build() -> Outcome<PathBuf> {
    need_cpp()?;
    let host = host()?;
    let manifest = cargo::root().join("fuzz/Cargo.toml");
    // A target of its own keeps the flags away from build scripts.
    let arguments = ["build", "--release", "--locked", "--target", &host, "--manifest-path"];
    let mut command = cargo::command(&arguments);
    command.arg(manifest).env("CARGO_TARGET_DIR", work()).env("RUSTFLAGS", FLAGS.join(" "));
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| cargo::not_started(&error))?;
    if !status.success() {
        return Err(Failure::new("the fuzz targets do not compile", "see what the compiler says"));
    }
    Ok(work().join(host).join("release/bobak-libfuzzer"))
}

fn need_cpp() -> Outcome {
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let null = || Stdio::null();
    let version = Command::new(&compiler)
        .arg("--version")
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .status();
    if version.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(Failure::new(
        format!("libFuzzer needs a C++ compiler, and `{compiler}` can't be run"),
        "install one (on Debian `apt-get install g++`), or name it in CXX",
    ))
}

/// The machine that this compiler makes programs for unless told otherwise.
fn host() -> Outcome<String> {
    let words = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("-vV")
        .output()
        .map_err(|error| cargo::not_started(&error))?;
    let text = String::from_utf8_lossy(&words.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let unknown = || Failure::new("rustc does not tell its host", "see what `rustc -vV` says");
    host.map(str::to_owned).ok_or_else(unknown)
}

fn targets(program: &Path) -> Outcome<Vec<Target>> {
    let output = Command::new(program).env("BOBAK_FUZZ", "list").output().map_err(broken)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut parts = line.split('\t').map(str::to_owned);
        if let (Some(name), Some(longest), Some(about)) = (parts.next(), parts.next(), parts.next())
        {
            println!("{name:<16} {about}");
            all.push(Target { name, longest });
        }
    }
    Ok(all)
}

/// First the long seeds, for what takes time out of proportion; then all that libFuzzer thinks of. Whether nothing was
/// found.
fn fuzz(program: &Path, target: &Target, seconds: u64) -> Outcome<bool> {
    let name = &target.name;
    let folder = |kind: &str| -> Outcome<PathBuf> {
        let folder = work().join(kind).join(name);
        fs::create_dir_all(&folder).map_err(broken)?;
        Ok(folder)
    };
    let (corpus, seeds, long) = (folder("corpus")?, folder("seeds")?, folder("long")?);
    fs::create_dir_all(work().join("found")).map_err(broken)?;
    for (verb, folder) in [("seeds", &seeds), ("long", &long)] {
        let request = format!("{verb}:{name}:{}", folder.display());
        let status = Command::new(program).env("BOBAK_FUZZ", request).status().map_err(broken)?;
        if !status.success() {
            return Ok(false);
        }
    }
    let found = format!("-artifact_prefix={}/{name}-", work().join("found").display());
    let limits = [
        format!("-timeout={TIMEOUT}"),
        format!("-rss_limit_mb={MEMORY}"),
        format!("-max_len={}", target.longest),
        found,
        "-verbosity=0".to_owned(),
        "-print_final_stats=1".to_owned(),
    ];
    let start = |more: &[String]| {
        let mut command = Command::new(program);
        command.env("BOBAK_FUZZ", format!("run:{name}")).args(&limits).args(more);
        command.stdin(Stdio::null()).status().map(|status| status.success()).map_err(broken)
    };
    let path = |path: &Path| path.display().to_string();
    if !start(&["-runs=0".to_owned(), path(&long)])? {
        return Ok(false);
    }
    start(&[format!("-max_total_time={seconds}"), path(&corpus), path(&seeds)])
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn broken(error: std::io::Error) -> Failure {
    Failure::new(
        format!("the fuzz program could not be run: {error}"),
        "see that the disk is not full",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_targets_and_a_time() {
        let parse =
            |line: &str| read(&line.split_whitespace().map(String::from).collect::<Vec<_>>());
        let all = parse("").unwrap();
        assert_eq!(all, FuzzOptions { list: false, seconds: SECONDS, targets: Vec::new() });
        let two = parse("rows --seconds 5 sql").unwrap();
        assert_eq!((two.seconds, two.targets.join(" ")), (5, "rows sql".to_owned()));
        assert!(parse("--list").unwrap().list);
        for line in ["--seconds", "--seconds 0", "--seconds x", "--fast"] {
            let failure = parse(line).unwrap_err().to_string();
            assert!(failure.contains("--list"), "{failure}");
        }
    }
}
