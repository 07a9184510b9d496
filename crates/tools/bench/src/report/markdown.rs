//! The report as Markdown, for a README or an issue.

use super::text::GROUPS;
use super::{Cell, Report, format};

impl Report {
    /// The report as Markdown tables: engines as rows, cells as columns.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "{}; {}.\n\n{}\n",
            escape(&format::program(self)),
            escape(&format::machine(&self.machine)),
            format::reading(self)
        );
        for (title, tasks) in GROUPS {
            let tasks = self.filled(tasks);
            if tasks.is_empty() {
                continue;
            }
            text += &format!("\n| {title} |");
            for task in &tasks {
                text += &format!(" {task} |");
            }
            text += &format!("\n|---|{}\n", "--:|".repeat(tasks.len()));
            for engine in self.engines_at(&tasks) {
                text += &format!("| {} |", escape(engine));
                for task in &tasks {
                    let figure = self.cell(engine, task.name()).map_or("–".to_owned(), figure);
                    text += &format!(" {figure} |");
                }
                text.push('\n');
            }
        }
        text
    }
}

fn figure(cell: &Cell) -> String {
    match cell.rate {
        Some(rate) => format::figure(rate, cell),
        None => {
            format!("**failed**: {}", escape(cell.error.as_deref().unwrap_or("not measured")))
        }
    }
}

/// Keeps a text within its field, and from being read as Markdown or HTML.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => safe.push(' '),
            '|' | '*' | '_' | '`' | '<' | '&' | '\\' | '[' => safe.extend(['\\', letter]),
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;

    #[test]
    fn tables_have_a_row_for_each_engine() {
        let text = report().to_markdown();
        let table: Vec<&str> = text.lines().skip(4).take(4).collect();
        assert_eq!(
            table,
            [
                "| insert | direct | batch |",
                "|---|--:|--:|",
                "| sqlite memory | 250,000 (0.50) | **failed**: row 7: amount is 8, not 7 |",
                "| sqlite file full | 3,000 | – |",
            ]
        );
        assert!(text.contains("\\<A\\&B>"), "{text}");
    }
}
