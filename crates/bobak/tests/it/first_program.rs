use bobak::prelude::*;

#[derive(Record, Debug)]
struct Person {
    id: i64,
    name: String,
}

fn main() -> bobak::Result<()> {
    let db = Db::builder().record::<Person>().open("sqlite:people.db")?;
    db.create_missing_tables()?;
    let people = db.table::<Person>()?;
    let id = people.insert(&Person { id: 0, name: "Ada".into() })?;
    Ok(println!("{:?}", people.get(id)?))
}
