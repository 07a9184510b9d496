//! The async API with Tokio. Any other runtime works too.
//!
//! `cargo run -p bobak --features async --example async_tokio`

use bobak::aio::AsyncDb;
use bobak::prelude::*;
use std::time::Duration;

#[derive(Record, Debug, Clone)]
struct Event {
    id: i64,
    text: String,
}

async fn program() -> bobak::Result<()> {
    let db = AsyncDb::new(Db::builder().record::<Event>().open("sqlite::memory:")?)?;
    db.create_missing_tables().await?;
    let events = db.table::<Event>();

    // Concurrent writes share a transaction and a sync.
    let mut tasks = Vec::new();
    for number in 0..100 {
        let events = events.clone();
        tasks.push(tokio::spawn(async move {
            events.insert(Event { id: 0, text: format!("event {number}") }).await
        }));
    }
    for task in tasks {
        task.await.expect("no task panics")?;
    }

    // A stream reads ahead in constant memory.
    let mut stream = events.stream(Query::all().order_by(Event::ID.asc()));
    let mut read = 0;
    while let Some(event) = stream.next().await {
        event?;
        read += 1;
    }
    assert_eq!(read, 100);

    // Dropping a future, here by a timeout, cancels its work.
    let slow = db.run(|db| {
        db.sql::<i64>("SELECT count(*) FROM event a, event b, event c, event d, event e", ())
    });
    match tokio::time::timeout(Duration::from_millis(50), slow).await {
        Ok(count) => println!("{:?} combinations", count?),
        Err(_) => println!("interrupted"),
    }

    // A transaction is a closure on one thread.
    let left = db.transaction(|transaction| {
        let events = transaction.table::<Event>()?;
        events.delete_where(Event::ID.le(50))?;
        events.count(Query::all())
    });
    assert_eq!(left.await?, 50);
    Ok(())
}

fn main() -> bobak::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build();
    runtime.expect("a runtime").block_on(program())
}
