use bobak::prelude::*;

#[derive(Record, Debug)]
struct Person {
    id: i64,
    name: String,
}

fn main() -> bobak::Result<()> {
    let db = Db::builder().record::<Person>().open("sqlite:people.db")?;
    db.create_missing_tables()?;
    let id = db.table()?.insert(&Person { id: 0, name: "Ada".into() })?;
    println!("{:?}", db.table::<Person>()?.get(id)?);
    Ok(())
}
