//! SQL functions written in Rust.

use crate::support::query;
use bobak_core::{Engine, Error, ErrorKind, Result, Value, ValueRef};
use bobak_sqlite::{Aggregate, Function, Sqlite};

#[derive(Default)]
struct Longest(String);

impl Aggregate for Longest {
    fn step(&mut self, arguments: &[ValueRef<'_>]) -> Result<()> {
        match arguments {
            [ValueRef::Text("boom")] => panic!("no such word"),
            [ValueRef::Text("bad")] => Err(Error::new(ErrorKind::OutOfRange, "a bad word")),
            [ValueRef::Text(text)] if text.len() > self.0.len() => {
                (*text).clone_into(&mut self.0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<Value<'static>> {
        Ok(self.0.into())
    }
}

#[test]
fn functions_written_in_rust_are_callable_from_sql() {
    let engine = Sqlite::builder()
        .function(Function::aggregate("longest", Some(1), Longest::default))
        .function(Function::scalar("how_many", None, |arguments| {
            assert!(arguments.len() < 4, "too many");
            Ok((arguments.len() as i64).into())
        }))
        .function(Function::table("range", ["a", "b"], ["n", "text"], |arguments| {
            let [ValueRef::Int(a), ValueRef::Int(b)] = *arguments else {
                return Err(Error::new(ErrorKind::Mismatch, "range takes two numbers"));
            };
            Ok(Box::new((a..b).map(|n| {
                assert!(n < 100, "too far");
                Ok(vec![n.into(), Value::from(n.to_string())])
            })))
        }))
        .open_memory()
        .unwrap();
    let first = |sql: &str| Ok(query(&*engine.session()?, sql, &[])?[0][0].clone());
    let fails = |sql: &str, kind: ErrorKind, words: &str| {
        let error: Error = first(sql).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(words), "{error:?}");
    };
    let check = |sql: &str, value: Value<'static>| assert_eq!(first(sql).unwrap(), value, "{sql}");
    check("SELECT how_many(1, 'b', NULL)", 3.into());
    fails("SELECT how_many(1, 2, 3, 4)", ErrorKind::Engine, "too many");
    check("SELECT longest(text) FROM range(8, 12)", "10".into());
    check("SELECT longest(text) FROM range(8, 8)", "".into());
    check("SELECT count(*) FROM range(1, 4) AS a, range(0, a.n) AS b WHERE b.n > 0", 3.into());
    fails("SELECT longest('bad')", ErrorKind::OutOfRange, "a bad word");
    fails("SELECT longest('boom')", ErrorKind::Engine, "no such word");
    fails("SELECT * FROM range(1)", ErrorKind::Mismatch, "two numbers");
    fails("SELECT sum(n) FROM range(1, 101)", ErrorKind::Engine, "too far");
}
