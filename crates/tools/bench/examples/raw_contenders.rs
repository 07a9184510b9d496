//! Measures each raw contender against itself: how much a ratio varies by chance, and which compile-time options of SQLite
//! are worth having.
//!
//! `cargo run --release -p bobak-bench --example raw_contenders -- 100000 "raw sqlite memory" 5`

use bobak_bench::{Options, Silent, engines};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map(|rows| rows.parse()).transpose()?;
    let engines =
        arguments.next().map_or_else(|| Ok(engines::raw()), |names| engines::parse(&names))?;
    let repeat = arguments.next().map_or(Ok(3), |repeat| repeat.parse())?;
    let options = Options { engines, rows, repeat, ..Options::default() };
    let report = bobak_bench::run(&options, &mut Silent);
    match arguments.next() {
        Some(file) if file.ends_with(".html") => std::fs::write(file, report.to_html())?,
        Some(file) if file.ends_with(".md") => std::fs::write(file, report.to_markdown())?,
        Some(file) => std::fs::write(file, report.to_json()?)?,
        None => print!("{}", report.to_text()),
    }
    Ok(())
}
