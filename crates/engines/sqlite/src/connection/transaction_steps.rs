//! SQL text that begins or ends transactions.

use crate::error::misuse;
use bobak_core::Result;

/// Refuses SQL that begins or ends transactions: the engine would not know of it.
pub(crate) fn refuse_transaction_steps(sql: &str) -> Result<()> {
    const STEPS: [&str; 6] = ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"];
    let word = first_word(sql);
    if STEPS.iter().any(|step| word.eq_ignore_ascii_case(step)) {
        let message = "transactions are begun and ended by calls, not by SQL";
        return Err(misuse(message));
    }
    Ok(())
}

/// The first word of an SQL text, past white space, semicolons and comments.
fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        // As SQLite does: a vertical tab is a blank, and so is a byte order mark.
        rest = rest.trim_start_matches(|c| matches!(c, '\t'..='\r' | ' ' | ';' | '\u{feff}'));
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default();
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found_behind_comments() {
        assert_eq!(first_word(" ;-- x\n/* BEGIN */ commit;"), "commit");
        assert_eq!(first_word("/* open"), "");
        assert!(refuse_transaction_steps("SELECT 1").is_ok());
        assert_eq!(first_word("\u{feff} \u{b}commit"), "commit");
        assert!(refuse_transaction_steps("/**/begin immediate").is_err());
    }
}
