use super::SqlTokenKind::{
    Blob, Comment, Number, Operator, Parameter, QuotedName, Text, Whitespace, Word,
};
use super::*;
use crate::Value;

const SQLITE: SqlSyntax = SqlSyntax::Sqlite;
const POSTGRES: SqlSyntax = SqlSyntax::Postgres;
const MYSQL: SqlSyntax = SqlSyntax::MySql { backslash_escapes: false };
const MYSQL_ESCAPES: SqlSyntax = SqlSyntax::MySql { backslash_escapes: true };

/// The kinds and texts of all tokens but white space, after checking what holds for any text.
fn tokens(syntax: SqlSyntax, sql: &str) -> Vec<(SqlTokenKind, &str)> {
    let mut at = 0;
    for token in SqlTokenizer::new(syntax, sql) {
        assert_eq!(token.start, at, "{sql}");
        assert_eq!(sql.get(token.span()), Some(token.text), "{sql}");
        assert!(!token.text.is_empty(), "{sql}");
        let _ = (token.unquoted(), token.name(), token.bytes(), token.number());
        at = token.end();
    }
    assert_eq!(at, sql.len(), "{sql}");
    let tokens = SqlTokenizer::new(syntax, sql).map(|token| (token.kind, token.text));
    tokens.filter(|(kind, _)| *kind != Whitespace).collect()
}

fn single(syntax: SqlSyntax, sql: &str) -> SqlToken<'_> {
    let token = SqlTokenizer::new(syntax, sql).next().unwrap();
    assert_eq!(token.text, sql, "{syntax:?}: not one token");
    token
}

#[test]
fn words_numbers_and_operators_are_separated() {
    for syntax in SqlSyntax::ALL {
        assert_eq!(
            tokens(syntax, "Select a_1,é FROM t\nwhere b<=-1.5e+3 and c<>.5||d"),
            [
                (Word, "Select"),
                (Word, "a_1"),
                (Operator, ","),
                (Word, "é"),
                (Word, "FROM"),
                (Word, "t"),
                (Word, "where"),
                (Word, "b"),
                (Operator, "<="),
                (Operator, "-"),
                (Number, "1.5e+3"),
                (Word, "and"),
                (Word, "c"),
                (Operator, "<>"),
                (Number, ".5"),
                (Operator, "||"),
                (Word, "d"),
            ]
        );
    }
}

#[test]
fn doubled_quotes_do_not_end_a_string() {
    for syntax in SqlSyntax::ALL {
        assert_eq!(
            tokens(syntax, "'it''s' '' '''' 'a'"),
            [(Text, "'it''s'"), (Text, "''"), (Text, "''''"), (Text, "'a'")]
        );
    }
    assert_eq!(single(SQLITE, "'it''s'").unquoted(), "it's");
    assert_eq!(single(SQLITE, "''''").unquoted(), "'");
    assert_eq!(single(SQLITE, "'a''''b'").unquoted(), "a''b");
}

#[test]
fn quoted_names_differ_between_databases() {
    let sql = "\"a\"\"b\" `c``d`";
    assert_eq!(tokens(SQLITE, sql), [(QuotedName, "\"a\"\"b\""), (QuotedName, "`c``d`")]);
    assert_eq!(tokens(MYSQL, sql), [(Text, "\"a\"\"b\""), (QuotedName, "`c``d`")]);
    assert_eq!(tokens(POSTGRES, "`\"a\""), [(Operator, "`"), (QuotedName, "\"a\"")]);
    assert_eq!(tokens(SQLITE, "[a '[b]"), [(QuotedName, "[a '[b]")]);
    assert_eq!(tokens(POSTGRES, "a[1]").len(), 4);
    assert_eq!(single(SQLITE, "\"a\"\"b\"").name().unwrap(), "a\"b");
    assert_eq!(single(SQLITE, "[a\"\"b]").name().unwrap(), "a\"\"b");
    assert_eq!(single(POSTGRES, "U&\"a\"\"b\"").name().unwrap(), "a\"b");
    assert_eq!(single(SQLITE, "'a'").name(), None);
}

#[test]
fn backslash_escapes_only_where_the_database_has_them() {
    let sql = r"'a\' c '";
    assert_eq!(tokens(MYSQL_ESCAPES, sql), [(Text, sql)]);
    for syntax in [SQLITE, POSTGRES, MYSQL] {
        assert_eq!(tokens(syntax, sql), [(Text, r"'a\'"), (Word, "c"), (Text, "'")]);
    }
    assert_eq!(tokens(POSTGRES, r"e'a\' b' E'\\'"), [(Text, r"e'a\' b'"), (Text, r"E'\\'")]);
    assert_eq!(tokens(SQLITE, r"e'a\' b"), [(Word, "e"), (Text, r"'a\'"), (Word, "b")]);
    assert_eq!(tokens(MYSQL_ESCAPES, r#""a\"" `\`"#), [(Text, r#""a\"""#), (QuotedName, r"`\`")]);
    assert_eq!(tokens(MYSQL_ESCAPES, r"N'\''"), [(Text, r"N'\''")]);
    assert_eq!(tokens(MYSQL_ESCAPES, "'\\é'"), [(Text, "'\\é'")]);
    assert_eq!(tokens(MYSQL_ESCAPES, r"'\"), [(Text, r"'\")]);
}

#[test]
fn dollar_quotes_end_at_the_same_tag() {
    assert_eq!(
        tokens(POSTGRES, "$$ ' $a$ $$ $a$ $$ $b$ $a$ x"),
        [(Text, "$$ ' $a$ $$"), (Text, "$a$ $$ $b$ $a$"), (Word, "x")]
    );
    // A dollar inside a name opens nothing, and a tag does not start with a digit.
    assert_eq!(tokens(POSTGRES, "a$b$ 'c'"), [(Word, "a$b$"), (Text, "'c'")]);
    assert_eq!(
        tokens(POSTGRES, "$1$ 'c' $ $é$'$é$"),
        [(Parameter, "$1"), (Operator, "$"), (Text, "'c'"), (Operator, "$"), (Text, "$é$'$é$")]
    );
    assert_eq!(single(POSTGRES, "$tag$a$$b$tag$").unquoted(), "a$$b");
    assert_eq!(single(POSTGRES, "$$a").unquoted(), "a");
    assert_eq!(tokens(MYSQL, "$a$ 'c'"), [(Word, "$a$"), (Text, "'c'")]);
}

#[test]
fn block_comments_nest_in_postgres_only() {
    let sql = "/* a /* b */ c */ d";
    assert_eq!(tokens(POSTGRES, sql), [(Comment, "/* a /* b */ c */"), (Word, "d")]);
    for syntax in [SQLITE, MYSQL] {
        let found = tokens(syntax, sql);
        assert_eq!(found[..2], [(Comment, "/* a /* b */"), (Word, "c")]);
    }
    for syntax in SqlSyntax::ALL {
        // The star that opens a comment does not close it.
        assert_eq!(tokens(syntax, "/*/ a */ b"), [(Comment, "/*/ a */"), (Word, "b")]);
        assert_eq!(
            tokens(syntax, "/**/b/***/"),
            [(Comment, "/**/"), (Word, "b"), (Comment, "/***/")]
        );
    }
}

#[test]
fn line_comments_end_where_the_database_ends_them() {
    for syntax in SqlSyntax::ALL {
        assert_eq!(tokens(syntax, "-- ' a\nb"), [(Comment, "-- ' a"), (Word, "b")]);
        assert_eq!(tokens(syntax, "-- a"), [(Comment, "-- a")]);
    }
    assert_eq!(tokens(POSTGRES, "-- a\rb"), [(Comment, "-- a"), (Word, "b")]);
    assert_eq!(tokens(SQLITE, "-- a\rb"), [(Comment, "-- a\rb")]);
    assert_eq!(tokens(SQLITE, "5--3"), [(Number, "5"), (Comment, "--3")]);
    let subtraction = [(Number, "5"), (Operator, "-"), (Operator, "-"), (Number, "3")];
    assert_eq!(tokens(MYSQL, "5--3"), subtraction);
    assert_eq!(
        tokens(MYSQL, "a # b\nc--"),
        [(Word, "a"), (Comment, "# b"), (Word, "c"), (Comment, "--")]
    );
}

#[test]
fn executable_comments_of_mysql_are_split_into_tokens() {
    assert_eq!(
        tokens(MYSQL, "1 /*!50100 + /* a */ 2*/ */ /*M! b*/"),
        [
            (Number, "1"),
            (Operator, "/*!50100"),
            (Operator, "+"),
            (Comment, "/* a */"),
            (Number, "2"),
            (Operator, "*/"),
            (Operator, "*"),
            (Operator, "/"),
            (Operator, "/*M!"),
            (Word, "b"),
            (Operator, "*/"),
        ]
    );
    assert_eq!(tokens(SQLITE, "/*! a */"), [(Comment, "/*! a */")]);
}

#[test]
fn parameters_differ_between_databases() {
    assert_eq!(
        tokens(SQLITE, "?,?12 :a @b #c $d::e(f 'g') $( : ::"),
        [
            (Parameter, "?"),
            (Operator, ","),
            (Parameter, "?12"),
            (Parameter, ":a"),
            (Parameter, "@b"),
            (Parameter, "#c"),
            (Parameter, "$d::e(f"),
            (Text, "'g'"),
            (Operator, ")"),
            (Operator, "$"),
            (Operator, "("),
            (Operator, ":"),
            (Operator, ":"),
            (Operator, ":"),
        ]
    );
    assert_eq!(tokens(SQLITE, "$x(') a"), [(Parameter, "$x(')"), (Word, "a")]);
    assert_eq!(
        tokens(POSTGRES, "a::b=? $2 @c"),
        [
            (Word, "a"),
            (Operator, "::"),
            (Word, "b"),
            (Operator, "="),
            (Parameter, "?"),
            (Parameter, "$2"),
            (Operator, "@"),
            (Word, "c"),
        ]
    );
    assert_eq!(
        tokens(MYSQL, "?1 @a.b @@c @'d'"),
        [
            (Parameter, "?"),
            (Number, "1"),
            (Parameter, "@a.b"),
            (Parameter, "@@c"),
            (Operator, "@"),
            (Text, "'d'"),
        ]
    );
}

#[test]
fn blobs_and_numbers_have_values() {
    assert_eq!(single(SQLITE, "x'00fF'").bytes(), Some(vec![0, 255]));
    assert_eq!(single(MYSQL, "X''").bytes(), Some(Vec::new()));
    for malformed in ["x'0'", "x'+1'", "x'0g'", "x'éé'", "x'00"] {
        assert_eq!(single(SQLITE, malformed).bytes(), None, "{malformed}");
    }
    assert_eq!(tokens(POSTGRES, "b'01'"), [(Blob, "b'01'")]);
    assert_eq!(tokens(SQLITE, "b'01'"), [(Word, "b"), (Text, "'01'")]);
    for (text, value) in [
        ("7", Value::Int(7)),
        ("9223372036854775807", Value::Int(i64::MAX)),
        ("9223372036854775808", Value::Float(9_223_372_036_854_775_808.0)),
        ("1.", Value::Float(1.0)),
        (".5", Value::Float(0.5)),
        ("1.5E-3", Value::Float(0.0015)),
        ("0x1F", Value::Int(31)),
        ("0xffffffffffffffff", Value::Int(-1)),
    ] {
        assert_eq!(single(SQLITE, text).number(), Some(value), "{text}");
    }
    for malformed in ["1e", "1e999", "1a", "0x", "0xg", "1_000", "0x10000000000000000"] {
        assert_eq!(single(SQLITE, malformed).number(), None, "{malformed}");
    }
    assert_eq!(tokens(SQLITE, "1e+a"), [(Number, "1e"), (Operator, "+"), (Word, "a")]);
    assert_eq!(tokens(POSTGRES, "1..2"), [(Number, "1"), (Operator, ".."), (Number, "2")]);
    assert_eq!(tokens(MYSQL, "1a 0x1f"), [(Word, "1a"), (Number, "0x1f")]);
}

#[test]
fn unterminated_tokens_reach_to_the_end() {
    for syntax in SqlSyntax::ALL {
        for sql in ["'a b", "\"a b", "/* a b", "'a''", "x'00"] {
            assert!(!single(syntax, sql).is_terminated, "{syntax:?} {sql}");
        }
    }
    assert!(!single(SQLITE, "[a b").is_terminated);
    assert!(!single(SQLITE, "`a b").is_terminated);
    assert!(!single(POSTGRES, "$a$ b $$").is_terminated);
    assert!(!single(POSTGRES, "/* /* */").is_terminated);
    assert!(single(SQLITE, "-- a").is_terminated);
    assert_eq!(single(SQLITE, "'a").unquoted(), "a");
}

#[test]
fn blanks_and_control_characters() {
    let found: Vec<_> = SqlTokenizer::new(SQLITE, "a\t\r\n\u{b}\u{c} b\u{feff}\0\u{feff}")
        .map(|token| (token.kind, token.text))
        .collect();
    assert_eq!(
        found,
        [
            (Word, "a"),
            (Whitespace, "\t\r\n\u{b}\u{c} "),
            (Word, "b\u{feff}"),
            (Operator, "\0"),
            (Whitespace, "\u{feff}"),
        ]
    );
    assert_eq!(tokens(POSTGRES, "'\0' \0"), [(Text, "'\0'"), (Operator, "\0")]);
    assert_eq!(tokens(POSTGRES, "\u{feff}a"), [(Word, "\u{feff}a")]);
    for syntax in SqlSyntax::ALL {
        assert_eq!(tokens(syntax, ""), []);
    }
}

#[test]
fn every_prefix_and_suffix_is_covered_by_tokens() {
    let sql = r#"/*!9 "a""b" `c` [d] 'e''f' E'\'' x'0f' $t$ ' $t$ -- g
        #h
        1.5e+3 0x1f ?1 :i $j::k(l) @m /* /* n */ */ é<>o||p;"#;
    for syntax in SqlSyntax::ALL {
        for at in (0..=sql.len()).filter(|at| sql.is_char_boundary(*at)) {
            tokens(syntax, &sql[..at]);
            tokens(syntax, &sql[at..]);
        }
    }
}
