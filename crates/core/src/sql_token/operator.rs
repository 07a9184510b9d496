//! Operators of more than one character.

/// Longer ones first. Databases have more, such as PostgreSQL's `@>`, but nothing depends on them,
/// and a `?` must stay a token of its own: it is a parameter.
const OPERATORS: [&[u8]; 16] = [
    b"->>", b"<=>", b"<=", b">=", b"<>", b"!=", b"==", b"||", b"->", b"<<", b">>", b"::", b":=",
    b"&&", b"=>", b"..",
];

/// The length of the operator that the text starts with: one character if it is in no list.
pub(super) fn length(rest: &[u8]) -> usize {
    let operator = OPERATORS.iter().find(|operator| rest.starts_with(operator));
    operator.map_or(1, |operator| operator.len())
}
