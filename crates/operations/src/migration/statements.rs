//! SQL texts of several statements.

/// The statements of an SQL text: each ends with a semicolon at the end of a line.
pub(super) fn statements(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut statement = String::new();
    for line in text.lines() {
        statement.push_str(line);
        statement.push('\n');
        if line.trim_end().ends_with(';') {
            let whole = std::mem::take(&mut statement);
            all.push(whole.trim().trim_end_matches(';').to_owned());
        }
    }
    if !statement.trim().is_empty() {
        all.push(statement.trim().to_owned());
    }
    all
}
