//! Values, keys and reads of a derived record.

use bobak_core::{
    ErrorKind, FieldSet, FromRow, Record, Value, ValueRef, Verb, WriteBatch, codec, read_field,
};
use bobak_derive::Record;

#[derive(Clone, Debug, PartialEq, Record)]
#[record(crate = "crate::shim")]
struct Person {
    id: i64,
    first_name: String,
    #[record(skip)]
    loaded: u32,
    photo: Option<Vec<u8>>,
    #[record(column = "Age")]
    r#type: u64,
}

fn ada() -> Person {
    let first_name = "Ada".to_owned();
    Person { id: 7, first_name, loaded: 3, photo: Some(vec![1, 2]), r#type: 36 }
}

#[test]
fn values_are_borrowed_in_schema_order() {
    let ada = ada();
    let values: [Value<'_>; 4] = ada.values().unwrap();
    let expected = [Value::Int(7), Value::from("Ada"), Value::from(&[1u8, 2][..]), Value::Int(36)];
    assert_eq!(values, expected);
    assert!(matches!(&values[1], Value::Text(std::borrow::Cow::Borrowed(_))));
    assert_eq!(ada.key(), 7);
}

#[test]
fn a_record_writes_the_row_that_its_values_make() {
    for person in [ada(), Person { photo: None, first_name: String::new(), ..ada() }] {
        let (mut written, mut made) = (vec![9], vec![9]);
        person.encode(&mut written).unwrap();
        codec::encode_slice(&mut made, &person.values().unwrap()).unwrap();
        assert_eq!(written, made);
    }
}

#[test]
fn a_value_that_does_not_fit_names_table_and_column() {
    let error = Person { r#type: u64::MAX, ..ada() }.values().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert_eq!((error.table(), error.column()), (Some("person"), Some("Age")));
}

#[test]
fn a_batch_holds_nothing_of_a_record_that_does_not_fit() {
    let mut batch = WriteBatch::new();
    let push = |batch: &mut WriteBatch, record: &Person| {
        batch.push_record(Verb::Insert, FieldSet::EMPTY, record)
    };
    push(&mut batch, &ada()).unwrap();
    let bytes = batch.bytes();
    let error = push(&mut batch, &Person { r#type: u64::MAX, ..ada() }).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("Age")));
    assert_eq!((batch.rows(), batch.bytes()), (1, bytes));
    push(&mut batch, &Person { id: 0, ..ada() }).unwrap();
    let rows: Vec<_> = batch.runs().flat_map(|run| run.iter().collect::<Vec<_>>()).collect();
    let keys: Vec<_> = rows.iter().map(|row| row.value(0)).collect();
    assert_eq!(keys, [ValueRef::Int(7), ValueRef::Null]);
}

#[test]
fn what_is_written_is_read_again() {
    let ada = ada();
    let values = ada.values().unwrap();
    let read = Person::read(&values.as_slice()).unwrap();
    assert_eq!(read, Person { loaded: 0, ..ada.clone() });
    assert_eq!(Person::from_row(&values.as_slice()).unwrap(), read);
    let names: &[&str] = &["id", "first_name", "photo", "Age"];
    assert_eq!(<Person as FromRow>::columns(), Some(names));
}

#[test]
fn a_reused_record_keeps_its_memory_and_its_skipped_fields() {
    let row = [Value::Int(1), Value::from("Bo"), Value::Null, Value::Int(2)];
    let mut person = ada();
    person.first_name.reserve(100);
    let memory = (person.first_name.as_ptr(), person.first_name.capacity());
    person.read_from(&row.as_slice()).unwrap();
    let first_name = "Bo".to_owned();
    assert_eq!(person, Person { id: 1, first_name, loaded: 3, photo: None, r#type: 2 });
    assert_eq!(memory, (person.first_name.as_ptr(), person.first_name.capacity()));
}

#[test]
fn a_wrong_value_names_table_and_column() {
    let row = [Value::Int(1), Value::Null, Value::Null, Value::Int(2)];
    for error in
        [Person::read(&row.as_slice()).unwrap_err(), ada().read_from(&row.as_slice()).unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert_eq!((error.table(), error.column()), (Some("person"), Some("first_name")));
    }
}

#[test]
fn a_row_that_is_too_short_is_read_as_null() {
    let row = [Value::Int(1)];
    assert_eq!(Person::read(&row.as_slice()).unwrap_err().kind(), ErrorKind::Mismatch);
    assert!(read_field::<i64>(&row.as_slice(), 0, Person::schema).is_ok());
}

/// What the user has in scope does not reach into the expansion.
mod hostile {
    #![allow(dead_code, unused_imports, unused_macros)]

    pub struct Result;
    pub struct Option;
    pub struct Vec;
    pub struct Arc;
    pub struct Value;
    pub enum Names {
        Ok,
        Err,
        Some,
        None,
    }
    pub use Names::{Err, None, Ok, Some};
    macro_rules! assert {
        () => {};
    }
    macro_rules! matches {
        () => {};
    }

    pub type Text = std::string::String;

    #[derive(bobak_derive::Record)]
    #[record(crate = "crate::shim")]
    pub struct Table {
        pub id: i64,
        pub table: i64,
        pub key_column: i64,
        pub schema: i64,
        #[record(max = 3, default = "a")]
        pub row: Text,
        pub value: i64,
    }

    #[derive(bobak_derive::Field)]
    #[field(crate = "crate::shim", store = "text")]
    pub enum Reply {
        Ok,
        None,
        Type,
    }

    #[derive(bobak_derive::FromRow)]
    #[row(crate = "crate::shim")]
    pub struct Pair(i64, f64);
}

#[test]
fn names_in_scope_are_no_trouble() {
    let columns = hostile::Table::schema().columns().len();
    assert_eq!((columns, <hostile::Table as Record>::TABLE), (6, "table"));
    assert_eq!(hostile::Table::TABLE.index(), 1);
}

#[test]
fn a_record_inside_a_function() {
    #[derive(Clone, Copy)]
    struct Local(i64);

    impl bobak_core::Field for Local {
        const TYPE: bobak_core::Type = bobak_core::Type::I64;
        fn to_value(&self) -> bobak_core::Result<Value<'_>> {
            self.0.to_value()
        }
        fn from_value(value: ValueRef<'_>) -> bobak_core::Result<Self> {
            i64::from_value(value).map(Self)
        }
    }

    #[derive(Record)]
    #[record(crate = "crate::shim")]
    struct Inner {
        id: i64,
        #[record(version)]
        local: Local,
    }

    let inner = Inner { id: 1, local: Local(2) };
    assert_eq!(inner.values().unwrap(), [Value::Int(1), Value::Int(2)]);
}
