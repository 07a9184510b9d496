//! How figures are written, the same in every report.

use super::{Cell, Machine, Report};

/// A rate, rounded, with a comma at each thousand.
pub fn rate(rate: f64) -> String {
    let digits = format!("{:.0}", rate.max(0.0));
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count, with a comma at each thousand.
pub fn count(count: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    rate(count as f64)
}

/// A ratio with two digits.
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// A rate, and in brackets the ratio to the raw contender, or how many times the rate of one thread it is.
pub fn figure(of: f64, cell: &Cell) -> String {
    match (cell.ratio, cell.times_one) {
        (Some(held), _) => format!("{} ({})", rate(of), ratio(held)),
        (None, Some(times)) => format!("{} ({times:.1} ×)", rate(of)),
        (None, None) => rate(of),
    }
}

/// The machine in one line.
pub fn machine(machine: &Machine) -> String {
    let Machine { cores, cpu, memory_mib, kernel, file_system, .. } = machine;
    format!("{cores} cores, {cpu}, {memory_mib} MiB, {kernel}, databases on {file_system}")
}

/// The program in one line.
pub fn program(report: &Report) -> String {
    let Report { bobak, sqlite, machine, .. } = report;
    let commit = machine.commit.as_ref().map_or(String::new(), |commit| format!(" ({commit})"));
    format!("Bobak {bobak}{commit}, {} build, SQLite {sqlite}", machine.build)
}

/// What the figures are, and which cells have other rows than the rest.
pub fn reading(report: &Report) -> String {
    let mut text = format!(
        "Rows per second, median of {}, {} rows; in brackets the ratio to the raw C API, of a server to its usual driver, \
         of a listener or of async code to the same engine in this process, called \
         directly, of threads to one of them.",
        count(report.repeat),
        count(report.rows)
    );
    let fewer: Vec<&Cell> = report.cells.iter().filter(|cell| cell.rows != report.rows).collect();
    if let Some(first) = fewer.first() {
        let names: Vec<_> =
            fewer.iter().map(|cell| format!("{} {}", cell.engine, cell.cell)).collect();
        text += &format!(" {} rows in {}.", count(first.rows), names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        assert_eq!(rate(999.4), "999");
        assert_eq!(rate(1_234_567.5), "1,234,568");
        assert_eq!(count(100_000), "100,000");
        assert_eq!(ratio(0.987), "0.99");
    }
}
