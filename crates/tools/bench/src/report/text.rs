//! The report on a terminal: engines as rows, cells as columns.

use super::{Cell, Report, format};
use crate::workload::Task;

/// Columns that are shown together; all of them at once would not fit a terminal.
pub(super) const GROUPS: [(&str, &[Task]); 9] = [
    ("insert", &[Task::Direct, Task::Batch, Task::Trans, Task::BatchTrans]),
    ("read", &[Task::ByOne, Task::AllVirtual, Task::AllDirect, Task::AllBorrowed]),
    ("change", &[Task::Update, Task::Delete, Task::Upsert]),
    ("one SQL", &[Task::Join]),
    ("relations", &[Task::Related, Task::TypedJoin]),
    ("full text", &[Task::Search]),
    (
        "typed, random keys",
        &[
            Task::TypedGet,
            Task::TypedSet,
            Task::TypedUpdate,
            Task::TypedDelete,
            Task::TypedCount,
            Task::TypedSum,
            Task::TypedFilter,
            Task::SmallJoin,
        ],
    ),
    ("by threads", &[Task::Direct4, Task::Direct16, Task::Direct64, Task::ByOne2]),
    ("over HTTP", &[Task::ByOneConnections, Task::DirectConnections, Task::Import]),
];

impl Report {
    /// The report as plain text, for a terminal at least 100 columns wide.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}\n{}\n{}\n",
            format::program(self),
            format::machine(&self.machine),
            format::reading(self)
        );
        let mut failures = Vec::new();
        for (title, tasks) in GROUPS {
            let tasks = self.filled(tasks);
            if !tasks.is_empty() {
                text.push('\n');
                text += &self.table(title, &tasks, &mut failures);
            }
        }
        for (index, failure) in failures.iter().enumerate() {
            text += &format!("\n[{}] {failure}", index + 1);
        }
        if !failures.is_empty() {
            text.push('\n');
        }
        text
    }

    /// The tasks that at least one engine was measured at.
    pub(super) fn filled(&self, tasks: &[Task]) -> Vec<Task> {
        let has = |task: &Task| self.cells.iter().any(|cell| cell.cell == task.name());
        tasks.iter().copied().filter(has).collect()
    }

    /// The engines that were measured at one of these tasks at least.
    pub(super) fn engines_at(&self, tasks: &[Task]) -> Vec<&str> {
        let has = |engine: &&str| tasks.iter().any(|task| self.cell(engine, task.name()).is_some());
        self.engines().into_iter().filter(has).collect()
    }

    fn table(&self, title: &str, tasks: &[Task], failures: &mut Vec<String>) -> String {
        let mut lines = vec![vec![title.to_owned()]];
        lines[0].extend(tasks.iter().map(|task| task.name().to_owned()));
        for engine in self.engines_at(tasks) {
            let mut line = vec![engine.to_owned()];
            for task in tasks {
                line.push(
                    self.cell(engine, task.name())
                        .map_or_else(|| "-".to_owned(), |cell| figure(cell, failures)),
                );
            }
            lines.push(line);
        }
        aligned(&lines)
    }
}

/// The content of one field. Failures are listed below the table.
fn figure(cell: &Cell, failures: &mut Vec<String>) -> String {
    match cell.rate {
        Some(rate) => format::figure(rate, cell),
        None => {
            let reason = cell.error.as_deref().unwrap_or("it was not measured");
            failures.push(format!("{}, {}: {reason}", cell.engine, cell.cell));
            format!("FAILED [{}]", failures.len())
        }
    }
}

/// First column to the left, others to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text +=
                &if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;

    #[test]
    fn engines_are_rows_cells_are_columns_and_failures_are_listed_below() {
        let text = report().to_text();
        let body: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(
            body,
            [
                "",
                "insert                    direct       batch",
                "sqlite memory     250,000 (0.50)  FAILED [1]",
                "sqlite file full           3,000           -",
                "",
                "read            by one",
                "sqlite memory  400,000",
                "",
                "[1] sqlite memory, batch: row 7: amount is 8, not 7",
            ]
        );
    }
}
