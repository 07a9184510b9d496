//! The first program is the same text in the README and in the docs, and it runs.

const PROGRAM: &str = include_str!("first_program.rs");

mod program {
    include!("first_program.rs");

    pub fn run() -> bobak::Result<()> {
        main()
    }
}

#[test]
fn the_first_program_is_short_and_runs() {
    assert!(PROGRAM.lines().count() <= 15, "at most 15 lines");
    assert_eq!(PROGRAM.lines().filter(|line| line.starts_with("use ")).count(), 1);
    let folder = tempfile::tempdir().unwrap();
    // The program names its file without a folder. No other test uses a relative path.
    std::env::set_current_dir(folder.path()).unwrap();
    program::run().unwrap();
    assert!(folder.path().join("people.db").exists());
}

#[test]
fn the_readme_shows_the_first_program_on_its_first_screen() {
    let readme = include_str!("../../../../README.md");
    let (before, _) =
        readme.split_once(PROGRAM).expect("the README has the program, letter by letter");
    assert!(before.lines().count() < 20, "it is within the first screen");
}
