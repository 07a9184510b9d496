//! Writes rows by one endless batch and reads them by an iterator, and tells the memory it took.
//!
//! `cargo run --release -p bobak-bench --example endless -- 10000000 "sqlite file off"`, and the
//! same with `raw sqlite file off` for what SQLite itself takes.

use bobak_bench::{Options, engines};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(Ok(10_000_000), |rows| rows.parse())?;
    let engine = arguments.next().unwrap_or_else(|| "sqlite file off".to_owned());
    for engine in engines::parse(&engine)? {
        println!("{}", bobak_bench::endless(engine, rows, &Options::default())?);
    }
    Ok(())
}
