//! Migrations of a [`Db`]: thin methods over `bobak-operations`.

use super::Db;
use bobak_core::Result;
use bobak_operations::migration::{self, MigrationPlan, MigrationStatus, Migrations, PlanOptions};

impl Db {
    /// The steps that lead from the main engine's tables to the model: see [`MigrationPlan`]. The options may be
    /// [`Drops`](migration::Drops) alone.
    ///
    /// ```
    /// use bobak::migration::{Drops, Migrations};
    /// use bobak::prelude::*;
    /// mod old {
    ///     #[derive(bobak::Record)]
    ///     pub struct Person { pub id: i64, pub bio: String }
    /// }
    /// #[derive(Record)]
    /// struct Person {
    ///     id: i64,
    ///     #[record(renamed_from = "bio")]
    ///     about: String,
    /// }
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let file = format!("sqlite:{}", folder.path().join("app.db").display());
    /// let before = Db::builder().record::<old::Person>().open(&file)?;
    /// before.create_missing_tables()?;
    /// before.table()?.insert(&old::Person { id: 0, bio: "a mathematician".into() })?;
    ///
    /// let db = Db::builder().record::<Person>().open(&file)?;
    /// let plan = db.migration_plan(Drops::Nothing)?;
    /// assert_eq!(plan.to_string(), "rename column person.bio to about\n");
    /// # let migrations = folder.path().join("migrations");
    /// Migrations::default().write(&migrations, "about", &plan)?;
    /// assert_eq!(db.migrate(&Migrations::read(&migrations)?)?, ["0001_about"]);
    /// assert_eq!(db.table::<Person>()?.get(1)?.unwrap().about, "a mathematician");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if the key of a table differs; those of the engine.
    pub fn migration_plan(&self, options: impl Into<PlanOptions>) -> Result<MigrationPlan> {
        let mut model = self.0.stored_model_of(0)?;
        model.retain(|table| !table.is_view());
        migration::plan(&model, &self.main_engine()?.tables()?, options)
    }

    /// As [`migration_plan`](Db::migration_plan), to the tables of another database instead of the model.
    ///
    /// # Errors
    /// As there.
    pub fn migration_plan_to(
        &self,
        model: &Self,
        options: impl Into<PlanOptions>,
    ) -> Result<MigrationPlan> {
        let own = |table: &bobak_core::TableSchema| table.name() != migration::LEDGER;
        let tables = model.tables()?.into_iter().filter(own).map(Into::into);
        let tables: Vec<_> = tables.collect();
        migration::plan(&tables, &self.main_engine()?.tables()?, options)
    }

    /// A plan's statements in the SQL of the main engine, for its readers: see [`MigrationPlan::to_sql`].
    ///
    /// # Errors
    /// `Unsupported` for an engine without SQL.
    pub fn migration_sql(&self, plan: &MigrationPlan) -> Result<Vec<String>> {
        let engine = self.main_engine()?;
        plan.to_sql(engine.name(), &engine.tables()?)
    }

    /// Carries out the migrations that the main engine does not have: see [`migration::up`].
    ///
    /// # Errors
    /// As there.
    pub fn migrate(&self, migrations: &Migrations) -> Result<Vec<String>> {
        let done = migration::up(&*self.main_engine()?, migrations);
        self.0.forget_stored();
        done
    }

    /// Undoes the last `count` migrations of the main engine: see [`migration::down`].
    ///
    /// # Errors
    /// As there.
    pub fn undo_migrations(
        &self,
        migrations: &Migrations,
        count: usize,
        allow_loss: bool,
    ) -> Result<Vec<String>> {
        let done = migration::down(&*self.main_engine()?, migrations, count, allow_loss);
        self.0.forget_stored();
        done
    }

    /// Notes migrations as done up to the one with this name: see [`migration::baseline`].
    ///
    /// # Errors
    /// As there.
    pub fn baseline_migrations(&self, migrations: &Migrations, name: &str) -> Result<Vec<String>> {
        migration::baseline(&*self.main_engine()?, migrations, name)
    }

    /// The state of each migration: see [`migration::status`].
    ///
    /// # Errors
    /// As there.
    pub fn migration_status(&self, migrations: &Migrations) -> Result<Vec<MigrationStatus>> {
        migration::status(&*self.main_engine()?, migrations)
    }

    /// Rejects a database that is older or newer than the program: see [`migration::verify`].
    ///
    /// # Errors
    /// As there.
    pub fn verify_migrations(&self, migrations: &Migrations) -> Result<()> {
        migration::verify(&*self.main_engine()?, migrations)
    }

    /// Tries the pending migrations on a copy: see [`migration::check`].
    ///
    /// # Errors
    /// As there.
    pub fn check_migrations(&self, migrations: &Migrations) -> Result<Vec<String>> {
        migration::check(&*self.main_engine()?, migrations)
    }
}
