//! Measures engines and cells by name, under the allocator that the program `bobak` has.
//!
//! `cargo run --release -p bobak-bench --example cells -- ROWS ENGINES CELLS REPEAT [FILE]`; `all`
//! stands for every engine or cell; FILE ends in `.json`, `.md` or `.html`.

use bobak_bench::{Cell, Options, Progress, Task, engines};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Prints each cell as soon as it is measured.
struct PrintedCells;

impl Progress for PrintedCells {
    fn cell(&mut self, cell: &Cell) {
        let Cell { engine, cell, rate, raw, ratio, error, .. } = cell;
        let number = |number: Option<f64>| number.unwrap_or(f64::NAN);
        let (rate, raw, ratio) = (number(*rate), number(*raw), number(*ratio));
        let error = error.as_deref().unwrap_or_default();
        eprintln!("{engine:28} {cell:14} {rate:>12.0} {raw:>12.0} {ratio:>7.3} {error}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named =
        |place: usize| arguments.get(place).map(String::as_str).filter(|&name| name != "all");
    let mut options = Options { rows: named(0).map(str::parse).transpose()?, ..Options::default() };
    if let Some(names) = named(1) {
        options.engines = engines::parse(names)?;
    }
    if let Some(names) = named(2) {
        options.tasks = Task::parse_list(names)?;
    }
    if let Some(repeat) = named(3) {
        options.repeat = repeat.parse()?;
    }
    let report = bobak_bench::run(&options, &mut PrintedCells);
    match named(4) {
        Some(file) if file.ends_with(".html") => std::fs::write(file, report.to_html())?,
        Some(file) if file.ends_with(".md") => std::fs::write(file, report.to_markdown())?,
        Some(file) => std::fs::write(file, report.to_json()?)?,
        None => print!("{}", report.to_text()),
    }
    Ok(())
}
