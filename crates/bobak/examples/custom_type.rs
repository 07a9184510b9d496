//! Own types of fields: enums, wrappers, and a type with its own stored form.
//!
//! `cargo run -p bobak --example custom_type`

use bobak::ValueRef;
use bobak::prelude::*;
use bobak::schema::Type;

/// Stored as text, the names of the variants.
#[derive(Field, Clone, Copy, Debug, PartialEq)]
#[field(store = "text")]
enum Status {
    Open,
    Done,
}

/// Stored as the integer inside.
#[derive(Field, Clone, Copy, Debug, PartialEq)]
struct Priority(u8);

/// Stored as text `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Color(u32);

impl Field for Color {
    const TYPE: Type = Type::Text;

    fn to_value(&self) -> bobak::Result<Value<'_>> {
        Ok(Value::from(format!("#{:06x}", self.0)))
    }

    fn from_value(value: ValueRef<'_>) -> bobak::Result<Self> {
        let text = String::from_value(value)?;
        let number = text.strip_prefix('#').and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number
            .map(Self)
            .ok_or_else(|| Error::new(ErrorKind::Mismatch, format!("'{text}' is not a color")))
    }
}

#[derive(Record, Debug, PartialEq)]
struct Task {
    id: i64,
    status: Status,
    priority: Priority,
    color: Color,
}

fn main() -> bobak::Result<()> {
    let db = Db::builder().record::<Task>().open("sqlite::memory:")?;
    db.create_missing_tables()?;
    let tasks = db.table::<Task>()?;
    let task = Task { id: 1, status: Status::Open, priority: Priority(3), color: Color(0xff8000) };
    tasks.insert(&task)?;
    assert_eq!(tasks.list(Task::STATUS.eq(Status::Open))?, [task]);

    let stored = db.sql::<(String, i64, String)>("SELECT status, priority, color FROM task", ())?;
    println!("{stored:?}");
    tasks.set(1, [Task::STATUS.set(Status::Done)])?;
    Ok(())
}
