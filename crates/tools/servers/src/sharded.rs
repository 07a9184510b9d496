//! ShardedPostgres PostgreSQL: tables partitioned by a hash of their key, each partition on its own server,
//! reached through `postgres_fdw` by a coordinator that clients talk to.

use std::thread;

use crate::{Options, Postgres, Result};

/// One coordinator and its shards; they stop when the value is dropped.
#[derive(Debug)]
pub struct ShardedPostgres {
    coordinator: Postgres,
    shards: Vec<Postgres>,
}

impl ShardedPostgres {
    /// Starts a coordinator and `shards` further servers, each of which it knows as `shard_0`, `shard_1`, … Takes some
    /// five seconds.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start(shards: usize) -> Result<Self> {
        Self::start_with(shards, &Options::new())
    }

    /// As [`start`](Self::start), with `options` for all of them but the password, which shards do not ask for.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_with(shards: usize, options: &Options) -> Result<Self> {
        let without_password = Options { password: None, ..options.clone() };
        let shards = thread::scope(|scope| {
            let starting: Vec<_> = (0..shards)
                .map(|_| scope.spawn(|| Postgres::start_with(&without_password)))
                .collect();
            let joined = starting.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|shard| shard.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<_>>>()
        })?;
        let coordinator = Postgres::start_with(options)?;
        let mut script = "CREATE EXTENSION postgres_fdw;".to_owned();
        for (number, shard) in shards.iter().enumerate() {
            let port = shard.port();
            script += &format!(
                "CREATE SERVER shard_{number} FOREIGN DATA WRAPPER postgres_fdw OPTIONS \
                 (host '127.0.0.1', port '{port}', dbname 'bobak', batch_size '1000', fetch_size '10000');\
                 CREATE USER MAPPING FOR bobak SERVER shard_{number} OPTIONS (user 'bobak');"
            );
        }
        coordinator.run(&script)?;
        Ok(Self { coordinator, shards })
    }

    /// The server that clients connect to.
    #[must_use]
    pub fn coordinator(&self) -> &Postgres {
        &self.coordinator
    }

    /// The servers with the rows.
    #[must_use]
    pub fn shards(&self) -> &[Postgres] {
        &self.shards
    }

    /// Converts a plain, empty table on the coordinator to a sharded one: the same columns, defaults and rules, with its
    /// rows on the shard that the hash of `key` chooses. All names are folded as PostgreSQL folds them, unless quoted.
    ///
    /// Some rules do not span shards: the primary key and unique rules hold on each shard only, which for
    /// the key is enough; an identity column becomes a default from a sequence. So that Bobak knows the key all the
    /// same, an index without rows says it in a comment.
    ///
    /// # Errors
    /// If the table does not exist, or PostgreSQL rejects a step, with its message.
    pub fn distribute(&self, table: &str, key: &str) -> Result<()> {
        let columns = self.coordinator.run(&columns(table))?;
        let name = key.replace('"', "");
        let gives_keys =
            self.coordinator.run(&format!("SELECT pg_get_serial_sequence('{table}', '{name}')"))?;
        let mut script = format!(
            "ALTER TABLE {table} RENAME TO whole;\
             CREATE TABLE {table} (LIKE whole INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS) \
             PARTITION BY HASH ({key});"
        );
        if !gives_keys.is_empty() {
            // The old one is dropped with the old table.
            script += &format!(
                "CREATE SEQUENCE {table}_keys OWNED BY {table}.{key};\
                 ALTER TABLE {table} ALTER COLUMN {key} SET DEFAULT nextval('{table}_keys');"
            );
        }
        script += "DROP TABLE whole;";
        let count = self.shards.len();
        for (number, shard) in self.shards.iter().enumerate() {
            shard.run(&format!("CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))"))?;
            script += &format!(
                "CREATE FOREIGN TABLE {table}_{number} PARTITION OF {table} \
                 FOR VALUES WITH (MODULUS {count}, REMAINDER {number}) \
                 SERVER shard_{number} OPTIONS (table_name '{table}');"
            );
        }
        let place = self.coordinator.run(&format!(
            "SELECT attnum - 1 FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = '{name}'"
        ))?;
        // The only way to tell Bobak the key of a table that can't have one here: an index that says so.
        script += &format!(
            "CREATE INDEX {table}_key ON ONLY {table} ({key});\
             COMMENT ON INDEX {table}_key IS 'bobak: key {place}';"
        );
        self.coordinator.run(&script).map(drop)
    }
}

/// The columns of a table as they are declared, without their defaults: those are the coordinator's.
fn columns(table: &str) -> String {
    format!(
        "SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod) || \
           CASE WHEN attcollation <> 0 THEN ' COLLATE ' || attcollation::regcollation ELSE '' END || \
           CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, ', ' ORDER BY attnum) \
         FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
    )
}
