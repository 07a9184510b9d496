//! The number of passed and failed tests, read from the output of each test runner.

use std::io::{self, BufRead, BufReader, Read, Write};

/// How many lines of failures are kept: those of a few tests, whole.
const KEPT_LINES: usize = 200;

/// Tests counted over all test binaries, and what was printed of those that failed.
#[derive(Debug, Default, PartialEq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    failures: Vec<String>,
    names: Vec<String>,
    inside_failures: bool,
}

impl Tally {
    /// Copies `output` to `screen` line by line, and counts in each line that closes a binary.
    pub fn read(&mut self, output: impl Read, screen: &mut impl Write) -> io::Result<()> {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line)? > 0 {
            screen.write_all(&line)?;
            screen.flush()?;
            let text = String::from_utf8_lossy(&line);
            self.keep_section(text.trim_end());
            self.keep_name(&text);
            self.count(&text);
            line.clear();
        }
        Ok(())
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        other.failures.iter().for_each(|line| self.keep(line));
        self.names.extend(other.names);
    }

    /// The names of the tests of Rust that failed.
    pub fn failed_tests(&self) -> &[String] {
        &self.names
    }

    /// What was printed of the tests that failed, for the end of a long output.
    pub fn print_failures(&self) {
        if !self.failures.is_empty() {
            println!("\n== failed ==");
        }
        for line in &self.failures {
            println!("{line}");
        }
    }

    /// Keeps the section that a binary with failed tests ends with: what each printed, then their names.
    fn keep_section(&mut self, line: &str) {
        self.inside_failures =
            (self.inside_failures || line == "failures:") && !line.starts_with("test result: ");
        if self.inside_failures {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &str) {
        if self.failures.len() < KEPT_LINES {
            self.failures.push(line.to_owned());
        }
    }

    /// A line of a test reads `test NAME ... FAILED`, perhaps with `- should panic` behind the name, the result perhaps in colour.
    fn keep_name(&mut self, line: &str) {
        let test = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
        if let Some((name, _)) = test.filter(|(_, result)| result.contains("FAILED")) {
            self.names.push(name.strip_suffix(" - should panic").unwrap_or(name).to_owned());
        }
    }

    /// A closing line reads `test result: ok. 3 passed; 0 failed; 1 ignored; …`, the `ok` perhaps in colour.
    fn count(&mut self, line: &str) {
        let Some((_, rest)) = line.split_once("test result: ") else {
            return;
        };
        self.count_words(rest);
    }

    /// A closing line reads `1 failed, 3 passed, 2 skipped in 0.12s`; before it, `FAILED` begins a line for each.
    pub fn count_pytest(&mut self, line: &str) {
        if line.starts_with("FAILED ") || line.starts_with("ERROR ") {
            self.keep(line);
        }
        if line.contains(" in ") && line.ends_with('s') {
            self.count_words(line);
        }
    }

    /// Each test of Go has a line of its own; those inside others are indented, and not counted.
    pub fn count_go(&mut self, line: &str) {
        self.passed += u64::from(line.starts_with("--- PASS"));
        if line.starts_with("--- FAIL") {
            self.failed += 1;
            self.keep(line);
        }
    }

    /// Closing lines read `# pass 3` and `# fail 0`; a test that failed has a line that begins with `not ok`.
    pub fn count_tap(&mut self, line: &str) {
        if line.starts_with("not ok") {
            self.keep(line);
        }
        let number = |word: &str| line.strip_prefix(word).and_then(|rest| rest.parse::<u64>().ok());
        self.passed += number("# pass ").unwrap_or(0);
        self.failed += number("# fail ").unwrap_or(0);
    }

    /// Each number before the words `passed` and `failed`.
    fn count_words(&mut self, words: &str) {
        let words: Vec<&str> =
            words.split([' ', ';', ',']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            match (pair[0].parse::<u64>(), pair[1]) {
                (Ok(number), "passed") => self.passed += number,
                (Ok(number), "failed") => self.failed += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_over_all_binaries_and_the_output_is_untouched() {
        let output = b"running 3 tests\ntest a ... ok\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n\
            test result: \x1b[31mFAILED\x1b[m. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\xff no newline";
        let (mut tally, mut screen) = (Tally::default(), Vec::new());
        tally.read(&output[..], &mut screen).unwrap();
        assert_eq!((tally.passed, tally.failed), (7, 2));
        assert_eq!(screen, output);
    }

    #[test]
    fn tests_of_clients_are_counted() {
        let mut tally = Tally::default();
        tally.count_pytest("....  [100%]");
        tally.count_pytest("1 failed, 384 passed, 2 skipped in 35.12s");
        assert_eq!((tally.passed, tally.failed), (384, 1));
        tally.count_go("--- PASS: TestRows (0.00s)");
        tally.count_go("    --- PASS: TestRows/tcp (0.00s)");
        tally.count_go("--- FAIL: TestFrames (0.00s)");
        assert_eq!((tally.passed, tally.failed), (385, 2));
        tally.count_tap("# pass 5");
        tally.count_tap("# fail 1");
        assert_eq!((tally.passed, tally.failed), (390, 3));
    }

    #[test]
    fn what_failed_is_kept_for_the_end() {
        let output = "test a ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a stdout ----\nleft: 1\n\n\
            failures:\n    a\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n     Running the next\n";
        let (mut tally, mut screen) = (Tally::default(), Vec::new());
        tally.read(output.as_bytes(), &mut screen).unwrap();
        tally.count_pytest("FAILED test_rows.py::test_tcp - AssertionError");
        tally.count_go("--- FAIL: TestFrames (0.00s)");
        tally.count_tap("not ok 3 - frame: a byte too many");
        let kept = [
            "failures:",
            "",
            "---- a stdout ----",
            "left: 1",
            "",
            "failures:",
            "    a",
            "",
            "FAILED test_rows.py::test_tcp - AssertionError",
            "--- FAIL: TestFrames (0.00s)",
            "not ok 3 - frame: a byte too many",
        ];
        assert_eq!(tally.failures, kept);
        assert_eq!(tally.failed_tests(), ["a"]);
        let mut sum = Tally { passed: 1, ..Tally::default() };
        sum.add(tally);
        assert_eq!((sum.passed, sum.failed, sum.failures.len()), (2, 2, kept.len()));
    }

    #[test]
    fn a_test_that_prints_numbers_is_not_counted() {
        let mut tally = Tally::default();
        tally.count("17 passed; 4 failed");
        assert_eq!(tally, Tally::default());
    }
}
