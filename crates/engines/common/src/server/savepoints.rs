//! The savepoints of a transaction on a server.

use bobak_core::{Error, ErrorKind, Result};

/// The savepoints that are set, with the names that callers gave them. On the server their names have numbers instead:
/// there, a second savepoint of a name may replace the first, and names are short.
#[derive(Debug, Default)]
pub struct Savepoints {
    set: Vec<(String, u64)>,
    last: u64,
}

/// A savepoint that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSavepoint {
    /// The number in its name on the server.
    pub number: u64,
    place: usize,
}

impl Savepoints {
    /// A number that no savepoint of the transaction has had.
    pub const fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Notes a savepoint that was set on the server.
    pub fn set(&mut self, name: &str, number: u64) {
        self.set.push((name.to_owned(), number));
    }

    /// The last savepoint of this name.
    ///
    /// # Errors
    /// `Misuse` if there is none.
    pub fn find(&self, name: &str) -> Result<ServerSavepoint> {
        let place = self.set.iter().rposition(|(known, _)| known == name);
        let found = place.and_then(|place| Some((place, self.set.get(place)?.1)));
        let (place, number) = found.ok_or_else(|| {
            Error::new(ErrorKind::Misuse, format!("there is no savepoint '{name}'"))
        })?;
        Ok(ServerSavepoint { number, place })
    }

    /// Forgets a savepoint that was released, and those after it.
    pub fn released(&mut self, savepoint: ServerSavepoint) {
        self.set.truncate(savepoint.place);
    }

    /// Forgets the savepoints after one that was rolled back to.
    pub fn rolled_back_to(&mut self, savepoint: ServerSavepoint) {
        self.set.truncate(savepoint.place + 1);
    }

    /// Forgets all of them: the transaction has ended.
    pub fn clear(&mut self) {
        self.set.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_name_is_found() {
        let mut savepoints = Savepoints::default();
        for name in ["a", "b", "a"] {
            let number = savepoints.next_number();
            savepoints.set(name, number);
        }
        let inner = savepoints.find("a").unwrap();
        assert_eq!(inner.number, 3);
        savepoints.rolled_back_to(inner);
        assert_eq!(savepoints.find("a").unwrap(), inner);
        savepoints.released(inner);
        assert_eq!(savepoints.find("a").unwrap().number, 1);
        savepoints.released(savepoints.find("b").unwrap());
        assert_eq!(savepoints.find("b").unwrap_err().kind(), ErrorKind::Misuse);
        assert_eq!(savepoints.next_number(), 4);
        savepoints.clear();
        assert!(savepoints.find("a").is_err());
    }
}
