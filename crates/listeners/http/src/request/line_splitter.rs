//! Splits a body that arrives in chunks into lines.

use crate::problem::Problem;
use bobak_core::Result;
use bytes::Bytes;

/// Splits chunks into lines, and keeps the incomplete last line of a chunk for the next one.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    incomplete: Vec<u8>,
    max_length: usize,
}

impl LineSplitter {
    /// `max_length` is the most bytes of a line.
    pub const fn new(max_length: usize) -> Self {
        Self { incomplete: Vec::new(), max_length }
    }

    /// Passes the lines that end in this chunk to `each`, without line feeds and blank lines.
    ///
    /// # Errors
    /// 413 for a line that is too long; those of `each`.
    pub fn push(
        &mut self,
        chunk: &Bytes,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<(), Problem> {
        let mut rest: &[u8] = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            self.check_length(line)?;
            if self.incomplete.is_empty() {
                pass_line(line, each)?;
            } else {
                self.incomplete.extend_from_slice(line);
                let line = std::mem::take(&mut self.incomplete);
                pass_line(&line, each)?;
            }
        }
        self.check_length(rest)?;
        self.incomplete.extend_from_slice(rest);
        Ok(())
    }

    /// Checks that the incomplete line with `more` is not too long.
    fn check_length(&self, more: &[u8]) -> Result<(), Problem> {
        if self.incomplete.len() + more.len() <= self.max_length {
            return Ok(());
        }
        Err(Problem::too_large(format!("a line has more than {} bytes", self.max_length)))
    }

    /// Passes the last line to `each`, if it has no line feed.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn finish(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let line = std::mem::take(&mut self.incomplete);
        pass_line(&line, each)
    }
}

fn pass_line(line: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if line.iter().all(u8::is_ascii_whitespace) { Ok(()) } else { each(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, chunk_length: usize, max_length: usize) -> Result<Vec<String>, Problem> {
        let (mut splitter, mut all) = (LineSplitter::new(max_length), Vec::new());
        let mut each = |line: &[u8]| {
            all.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        for chunk in text.as_bytes().chunks(chunk_length) {
            splitter.push(&Bytes::copy_from_slice(chunk), &mut each)?;
        }
        splitter.finish(&mut each)?;
        Ok(all)
    }

    #[test]
    fn lines_do_not_depend_on_chunk_boundaries() {
        let text = "one\n\ntwo\r\n  \nthree and four";
        for chunk_length in 1..text.len() {
            assert_eq!(lines(text, chunk_length, 100).unwrap(), ["one", "two\r", "three and four"]);
        }
        assert!(lines(text, 3, 10).is_err(), "too long");
    }
}
