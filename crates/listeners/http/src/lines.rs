//! The lines of a body that comes in parts.

use crate::problem::Problem;
use bobak_core::Result;
use bytes::Bytes;

/// Cuts parts into lines; what a part ends with waits for the next one.
#[derive(Debug)]
pub(crate) struct Lines {
    waiting: Vec<u8>,
    longest: usize,
}

impl Lines {
    pub const fn new(longest: usize) -> Self {
        Self { waiting: Vec::new(), longest }
    }

    /// Hands the lines out that end in this part, without their ends; blank ones are left out.
    ///
    /// # Errors
    /// 413 for a line that is too long; those of `each`.
    pub fn part(
        &mut self,
        part: &Bytes,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<(), Problem> {
        let mut rest: &[u8] = part;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            self.check(line)?;
            if self.waiting.is_empty() {
                hand_out(line, each)?;
            } else {
                self.waiting.extend_from_slice(line);
                let line = std::mem::take(&mut self.waiting);
                hand_out(&line, each)?;
            }
        }
        self.check(rest)?;
        self.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Refuses what makes the line that waits too long.
    fn check(&self, more: &[u8]) -> Result<(), Problem> {
        if self.waiting.len() + more.len() <= self.longest {
            return Ok(());
        }
        Err(Problem::too_large(format!("a line has more than {} bytes", self.longest)))
    }

    /// Hands out what stands behind the last line's end.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn finish(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let line = std::mem::take(&mut self.waiting);
        hand_out(&line, each)
    }
}

fn hand_out(line: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if line.iter().all(u8::is_ascii_whitespace) { Ok(()) } else { each(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, part: usize, longest: usize) -> Result<Vec<String>, Problem> {
        let (mut lines, mut all) = (Lines::new(longest), Vec::new());
        let mut each = |line: &[u8]| {
            all.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        };
        for part in text.as_bytes().chunks(part) {
            lines.part(&Bytes::copy_from_slice(part), &mut each)?;
        }
        lines.finish(&mut each)?;
        Ok(all)
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = "one\n\ntwo\r\n  \nthree and four";
        for part in 1..text.len() {
            assert_eq!(lines(text, part, 100).unwrap(), ["one", "two\r", "three and four"]);
        }
        assert!(lines(text, 3, 10).is_err(), "too long");
    }
}
