//! `#[derive(Field)]` on newtypes.

use bobak_core::{ErrorKind, Field, Type, Value, ValueRef};
use bobak_derive::Field;

#[derive(Debug, PartialEq, Field)]
#[field(crate = "crate::shim")]
struct Email(String);

#[derive(Debug, PartialEq, Field)]
#[field(crate = "crate::shim")]
struct Nick(Option<Email>);

#[test]
fn a_newtype_is_stored_as_what_it_holds() {
    assert_eq!((Email::TYPE, Email::NULLABLE), (Type::Text, false));
    assert_eq!((Nick::TYPE, Nick::NULLABLE), (Type::Text, true));
    let email = Email("a@b.c".to_owned());
    assert_eq!(email.to_value().unwrap(), Value::from("a@b.c"));
    assert_eq!(Email::from_value(ValueRef::Text("a@b.c")).unwrap(), email);
    assert_eq!(Email::from_value(ValueRef::Int(1)).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(Nick::from_value(ValueRef::Null).unwrap(), Nick(None));
}

#[test]
fn a_reused_newtype_keeps_its_memory() {
    let mut email = Email(String::with_capacity(100));
    let memory = email.0.as_ptr();
    email.read_from(ValueRef::Text("x@y.z")).unwrap();
    assert_eq!((email.0.as_ptr(), email.0.as_str()), (memory, "x@y.z"));
}
