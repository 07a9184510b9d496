use super::*;

fn parse(text: &str) -> Result<SqlExpression<'_>, String> {
    SqlParser::new(text).whole()
}

#[test]
fn precedence_is_that_of_sqlite() {
    for (text, same) in [
        ("a or b and not c = d", "a or (b and (not (c = d)))"),
        ("a = b < c", "a = (b < c)"),
        ("a < b + c * d || e", "a < (b + (c * (d || e)))"),
        ("a - b - c", "(a - b) - c"),
        ("a between b + 1 and c and d", "(a between (b + 1) and c) and d"),
        ("a is null = b", "(a isnull) = b"),
        ("a not in (1, 2) or b notnull", "(not (a in (1, 2))) or (not (b is null))"),
        ("not not not a", "not a"),
        ("- + - a || b", "(+a) || b"),
        ("t.a = count(*)", "(t.a) = (count(*))"),
    ] {
        assert_eq!(parse(text), parse(same), "{text}");
    }
}

/// The parser and what walks its trees are recursive.
#[test]
fn deep_trees_are_rejected() {
    let many = |text: &str| text.repeat(10_000);
    for text in [
        format!("{}1{}", many("("), many(")")),
        format!("{}1{}", many("f("), many(")")),
        format!("1{}", many(" + 1")),
        format!("1{}", many(" = 1")),
        format!("1{}", many(" is null")),
        format!("1{}", many(" < 1")),
        format!("1{}", many(" || 1")),
        format!("({}1)", "(1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 +".repeat(60)),
    ] {
        assert!(parse(&text).is_err(), "{}", text.get(..40).unwrap_or_default());
    }
    for text in [format!("1{}", many(" or a = 1 and b")), format!("a in (1{})", many(", 1"))] {
        assert!(parse(&text).is_ok());
    }
    assert!(parse(&format!("{}1", many("not "))).is_ok());
}

#[test]
fn messages_say_what_was_expected() {
    for (text, message) in [
        ("", "expected a column or a value, found the end"),
        ("a = 1 b", "expected an operator or the end, found 'b'"),
        ("a not 1", "expected between, in, like, contains, starts with or ends with, found '1'"),
        (
            "a like 'x' escape '%'",
            "expected one character other than % and _ in single quotes after escape",
        ),
        (
            "a like 'x' escape 'ab'",
            "expected one character other than % and _ in single quotes after escape",
        ),
        ("a = 'x", "''x' is not closed"),
        ("f(a", "expected ), found the end"),
        ("a -- b", "expected an operator or the end, found '-- b'"),
        ("x'0' = a", "expected pairs of hexadecimal digits, found 'x'0''"),
    ] {
        assert_eq!(parse(text).unwrap_err(), message, "{text}");
    }
}
