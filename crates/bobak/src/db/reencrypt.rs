//! Encrypting the fields of stored records again, with the current key.

use super::Db;
use crate::field_encryption::reencrypt_batch;
use crate::retry;
use bobak_core::{Error, ErrorKind, Query, Record, Result, Select, Value};
use std::sync::Arc;

impl Db {
    /// Encrypts with the current key what is encrypted with former ones, in transactions of up to `batch` rows; returns the
    /// number of rows that it wrote. A call after one that was interrupted continues its work: values of the current key are
    /// only read. Afterwards the former keys are needed only for backups and the change log.
    ///
    /// ```
    /// # use bobak::field_encryption::FieldKeys;
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Note { id: i64, #[record(encrypted)] text: String }
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let url = format!("sqlite:{}", folder.path().join("app.db").display());
    /// let (former, current) = ([1; 32], [2; 32]);
    /// let builder = Db::builder().record::<Note>().field_keys(FieldKeys::new(1, former));
    /// let db = builder.open(&url)?;
    /// db.create_missing_tables()?;
    /// db.table()?.insert(&Note { id: 0, text: "hush".into() })?;
    ///
    /// let keys = FieldKeys::new(2, current).with_former(1, former)?;
    /// let db = Db::builder().record::<Note>().field_keys(keys).open(&url)?;
    /// assert_eq!(db.reencrypt::<Note>(1_000)?, 1);
    /// assert_eq!(db.reencrypt::<Note>(1_000)?, 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// The version of a row rises by one, `modified_at` stays, and hooks and validators do not run.
    ///
    /// # Errors
    /// `Misuse` if the record has no encrypted fields or `batch` is 0; `Denied` and `Corrupt` for a value that cannot be
    /// decrypted: earlier batches are done; those of the engine.
    pub fn reencrypt<T: Record>(&self, batch: usize) -> Result<u64> {
        let catalog = self.catalog();
        let engine = catalog.bind::<T>()?;
        let cipher = catalog.ciphers(engine).map(|ciphers| ciphers.of(T::schema())).transpose()?;
        let Some(cipher) = cipher.flatten().filter(|_| batch > 0) else {
            let message = "the record has no encrypted fields, or the batch has no rows";
            return Err(Error::new(ErrorKind::Misuse, message).in_table(T::TABLE));
        };
        let (base, mut written) = (catalog.base(), 0);
        let mut after: Option<Vec<Value<'static>>> = None;
        loop {
            let mut select = Query::<T>::all()
                .limit(batch as u64)
                .to_select(T::schema(), Select::all(T::schema()).columns)?;
            if let Some(key) = &after {
                select = select.after(key)?;
            }
            select.table = Arc::clone(&cipher.stored);
            let done = retry::run(base, engine, catalog.retries, |transaction| {
                transaction.source().with(|session| reencrypt_batch(session, &cipher, &select))
            })?;
            written += done.written;
            match done.last {
                Some(key) => after = Some(key),
                None => return Ok(written),
            }
        }
    }
}
