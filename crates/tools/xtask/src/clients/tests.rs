//! The tests of each client, counted.

use super::folder::{ClientFolder, TSC, pip};
use crate::failure::Outcome;
use crate::tally::Tally;

const CURE: &str =
    "look above for what it says; the README of the client has how to run the tests alone";

pub fn python(folder: &ClientFolder, tally: &mut Tally) -> Outcome {
    pip(folder, &["pytest"])?;
    // Without wheels of these for the machine, the tests of data frames are left out.
    if pip(folder, &["--only-binary", ":all:", "pandas", "pyarrow"]).is_err() {
        println!("clients/python: without pandas and pyarrow the tests of frames are left out");
    }
    pip(folder, &["--force-reinstall", "--no-deps", "."])?;
    let words = [&folder.tool("python"), "-B", "-m", "pytest", "-p", "no:cacheprovider"];
    folder.count(&words, CURE, tally, Tally::count_pytest)
}

pub fn go(folder: &ClientFolder, tally: &mut Tally) -> Outcome {
    folder.count(&["go", "test", "-v", "./..."], CURE, tally, Tally::count_go)
}

pub fn typescript(folder: &ClientFolder, tally: &mut Tally) -> Outcome {
    folder.run(&["node", TSC], CURE)?;
    // By their names: whether a folder may stand for its files differs between Node's versions.
    let files = folder.files("test", ".test.ts");
    let files: Vec<_> = files.iter().map(|name| format!("dist/test/{name}.test.js")).collect();
    let files = files.iter().map(String::as_str);
    let words: Vec<_> =
        ["node", "--test", "--test-reporter=tap"].into_iter().chain(files).collect();
    folder.count(&words, CURE, tally, Tally::count_tap)
}
