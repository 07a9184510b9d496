//! Sqinn's own Go client: our tests with it, and its own tests with our program. The client comes from
//! the Go module proxy, or from the folder in `BOBAK_SQINN_GO`, a clone of
//! github.com/cvilsmeier/sqinn-go.

use std::fs;
use std::path::Path;
use std::process::Command;

const CLIENT: &str = "github.com/cvilsmeier/sqinn-go/v2";
const PROGRAM: &str = env!("CARGO_BIN_EXE_bobak-sqinn");

fn go(folder: &Path, arguments: &[&str]) -> std::io::Result<std::process::Output> {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(folder).env("BOBAK_SQINN", PROGRAM);
    command.env("GOFLAGS", "-mod=mod -buildvcs=false").output()
}

#[test]
fn sqinn_go_client_works() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
    for name in ["go.mod", "client_test.go"] {
        fs::copy(source.join(name), folder.path().join(name)).unwrap();
    }
    if let Ok(clone) = std::env::var("BOBAK_SQINN_GO") {
        let replace = format!("-replace={CLIENT}={clone}");
        go(folder.path(), &["mod", "edit", &replace]).unwrap();
    }
    match go(folder.path(), &["mod", "download"]) {
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "`go` can't be started: {error}");
            return println!("skipped: `go` can't be started: {error}");
        }
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            // The Go proxy does not have it everywhere, in CI neither.
            return println!(
                "skipped: Sqinn's Go client can't be had; name a clone of it in BOBAK_SQINN_GO: {said}"
            );
        }
        Ok(_) => {}
    }
    run_tests(folder.path());
    let there = go(folder.path(), &["list", "-m", "-f", "{{.Dir}}", CLIENT]).unwrap();
    let client = String::from_utf8(there.stdout).unwrap();
    run_tests(&with_our_program(Path::new(client.trim()), folder.path()));
}

fn run_tests(folder: &Path) {
    let output = go(folder, &["test", "-count=1", "./..."]).unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// A copy of the client whose tests start our program instead of the one shipped with it.
fn with_our_program(clone: &Path, folder: &Path) -> std::path::PathBuf {
    let copy = folder.join("client");
    fs::create_dir_all(copy.join("prebuilt")).unwrap();
    for part in ["", "prebuilt"] {
        for entry in fs::read_dir(clone.join(part)).unwrap().flatten() {
            if entry.path().is_file() {
                // Not with the permissions, because module files are read-only.
                let content = fs::read(entry.path()).unwrap();
                fs::write(copy.join(part).join(entry.file_name()), content).unwrap();
            }
        }
    }
    let main = fs::read_to_string(copy.join("sqinn.go")).unwrap();
    let ours = format!(
        "if opt.Sqinn == Prebuilt {{\n\t\topt.Sqinn = {PROGRAM:?}\n\t}}\n\tif opt.Sqinn == Prebuilt {{"
    );
    let changed = main.replacen("if opt.Sqinn == Prebuilt {", &ours, 1);
    assert_ne!(changed, main);
    fs::write(copy.join("sqinn.go"), changed).unwrap();
    copy
}
