//! Every mistake, with what the compiler then says: `tests/compile_fail/*.stderr`.
//!
//! After a change of words: `TRYBUILD=overwrite cargo test -p bobak-derive`, and read the result.

#[test]
fn mistakes_are_rejected_at_their_place() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
