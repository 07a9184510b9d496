//! The first pass: what the columns hold, and which lines are bad, before anything is written.

use crate::error::{Error, Result};
use crate::import::guess::{ColumnGuess, Nulls, fault};
use crate::import::layout::Layout;
use crate::import::lines::Lines;
use crate::import::source::Source;
use csv::ByteRecord;

/// What the first pass has found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The columns, in the order of the file.
    pub columns: Vec<ColumnGuess>,
    /// How many lines can be stored.
    pub good: u64,
    /// How many can't.
    pub bad: u64,
}

/// How many lines are read between two reports of progress.
pub const REPORT_EVERY: u64 = 16_384;

impl Survey {
    /// Reads the whole input.
    ///
    /// `columns` has what is known before, in the order of the file. With `stop` the first bad line
    /// ends the pass. `progress` is told the number of lines now and then.
    ///
    /// # Errors
    /// Input that can't be read; a bad line, where these are to stop the import.
    pub fn make(
        source: &Source,
        layout: &Layout,
        columns: Vec<ColumnGuess>,
        nulls: &Nulls,
        stop: bool,
        mut progress: impl FnMut(u64),
    ) -> Result<Self> {
        let mut survey = Self { columns, good: 0, bad: 0 };
        let mut record = ByteRecord::new();
        source.read(|input| {
            let mut lines = Lines::new(input, source.name(), layout.delimiter);
            if layout.has_header {
                lines.next(&mut record)?;
            }
            while lines.next(&mut record)? {
                match fault(&record, &layout.columns, &survey.columns, nulls) {
                    None => survey.take(&record, nulls),
                    Some(reason) if stop => {
                        return Err(stopped(source, lines.number(&record), &reason));
                    }
                    Some(_) => survey.bad += 1,
                }
                if (survey.good + survey.bad).is_multiple_of(REPORT_EVERY) {
                    progress(survey.good + survey.bad);
                }
            }
            Ok(())
        })?;
        Ok(survey)
    }

    fn take(&mut self, record: &ByteRecord, nulls: &Nulls) {
        self.good += 1;
        for (column, field) in self.columns.iter_mut().zip(record) {
            column.see(field, nulls);
        }
    }
}

/// The error of an import that a bad line stops.
#[must_use]
pub fn stopped(source: &Source, line: u64, reason: &str) -> Error {
    Error::failed(format!(
        "{}, line {line}: {reason}; nothing was imported (with --set-aside FILE such lines go there, \
         and the others are imported)",
        source.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::schema::Type;
    use std::io::Write;

    fn survey(text: &str, given: &[Option<Type>], stop: bool) -> Result<Survey> {
        let mut file = tempfile::NamedTempFile::new().expect("makes a file");
        file.write_all(text.as_bytes()).expect("writes");
        let source = Source::open(file.path(), None)?;
        let layout = Layout::look(&source, None, None)?;
        let columns = given.iter().map(|given| ColumnGuess::new(*given, false)).collect();
        Survey::make(&source, &layout, columns, &Nulls::new(["", "NA"]), stop, |_| {})
    }

    #[test]
    fn the_whole_file_counts() {
        let mut text = "a,b\n".to_owned();
        text.push_str(&"1,2\n".repeat(5_000));
        text.push_str("1.5,NA\n");
        let survey = survey(&text, &[None, None], true).expect("reads");
        let types: Vec<_> = survey.columns.iter().map(|c| (c.ty(), c.nullable())).collect();
        assert_eq!(types, [(Type::F64, false), (Type::I64, true)]);
        assert_eq!((survey.good, survey.bad), (5_001, 0));
    }

    #[test]
    fn a_bad_line_stops_or_is_left_out_of_the_guess() {
        let text = "a,b\n1,2\n3\n4,x\n5,6\n";
        let given = [None, Some(Type::I64)];
        let error = survey(text, &given, true).expect_err("stops").to_string();
        assert!(error.contains("line 3: 1 field where there are 2 columns"), "{error}");
        let survey = survey(text, &given, false).expect("goes on");
        assert_eq!((survey.good, survey.bad), (2, 2));
        assert_eq!(survey.columns[0].ty(), Type::I64);
    }
}
