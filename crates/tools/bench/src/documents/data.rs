//! The record, the documents that are stored, and what is searched for.

use bobak::{BatchOptions, Db, Record};
use bobak_fault_vfs::Random;

use crate::contender::Failure;

#[derive(Record)]
#[record(search(title, body, language = "english"))]
pub(super) struct Document {
    pub id: i64,
    pub title: String,
    pub body: String,
}

/// So many searches is one run.
pub(super) const SEARCHES: u64 = 100;
/// So many documents each search returns at most.
pub(super) const FOUND: u64 = 10;
/// So many words has each body.
const WORDS: usize = 40;
/// So many different words are there.
const VOCABULARY: u64 = 20_000;

/// Stores so many documents.
pub(super) fn store(db: &Db, documents: usize) -> Result<(), Failure> {
    db.create_missing_tables()?;
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    for id in (1..).take(documents) {
        batch.insert(&Document { id, title: format!("Document {id}"), body: body(id) })?;
    }
    batch.finish()?;
    Ok(())
}

/// The words of a document: the first ones of the vocabulary are in many documents, the last ones in few, as in a language.
fn body(id: i64) -> String {
    let mut random = Random::new(id.unsigned_abs());
    let mut word = || random.number() % VOCABULARY;
    let mut body = String::with_capacity(WORDS * 8);
    for at in 0..WORDS {
        body.push_str(if at == 0 { "" } else { " " });
        push_word(&mut body, word() * word() / VOCABULARY);
    }
    body
}

/// What the search with this number looks for: two words, of which one is in more documents than the other.
pub(super) fn words(search: u64) -> [String; 2] {
    [search + 1, search * 7 + 100].map(|number| {
        let mut word = String::new();
        push_word(&mut word, number);
        word
    })
}

fn push_word(out: &mut String, mut number: u64) {
    for _ in 0..4 {
        let (syllables, index) = ("bacedifogukalemniporastuvewixozy", number % 16 * 2);
        out.push_str(syllables.get(index as usize..index as usize + 2).unwrap_or_default());
        number /= 16;
    }
}

/// Checks what a search found.
pub(super) fn check(found: &[Document], words: &[String; 2]) -> Result<(), Failure> {
    let is_right = |document: &Document| {
        document.title.strip_prefix("Document ") == Some(&*document.id.to_string())
            && words.iter().all(|word| document.body.contains(&**word))
    };
    if found.len() as u64 > FOUND || !found.iter().all(is_right) {
        return Err(Failure::new("a document that was found has not the words of the search"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_words_that_are_searched_for() {
        let bodies: Vec<_> = (1..=2_000).map(body).collect();
        let having = |word: &String| bodies.iter().filter(|body| body.contains(&**word)).count();
        let [often, rarer] = words(3).map(|word| having(&word));
        assert!(often > rarer && rarer > 0, "{often} {rarer}");
        assert_eq!(body(7), body(7));
    }
}
