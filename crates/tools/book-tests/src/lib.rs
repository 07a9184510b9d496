//! The book: every Rust program in it, and in the pages of docs/ that it includes, is compiled and run as a
//! documentation test.
//!
//! The modules below exist for `cargo test --doc` only. A page with a Rust program that is missing here fails
//! the test `every_page_with_a_program_is_tested`; shell commands of the book are run by the tests of `bobak-cli`.

/// Makes the programs of pages documentation tests.
macro_rules! pages {
    ($($module:ident: $path:literal,)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../../book/src/", $path))]
            mod $module {}
        )*
        /// The pages whose programs are tested, relative to `book/src`.
        pub const TESTED_PAGES: &[&str] = &[$($path),*];
    };
}

pages! {
    introduction: "introduction.md",
    first_record: "guide/first-record.md",
    records: "guide/records.md",
    queries: "guide/queries.md",
    relations: "guide/relations.md",
    writes: "guide/writes.md",
    rules: "guide/rules.md",
    soft_delete: "guide/soft-delete.md",
    scopes: "guide/scopes.md",
    shop: "guide/shop.md",
    transactions: "guide/transactions.md",
    bulk: "guide/bulk.md",
    sql: "guide/sql.md",
    federation: "guide/federation.md",
    schema: "guide/schema.md",
    engines: "guide/engines.md",
    async_api: "guide/async.md",
    server: "guide/server.md",
    changes: "guide/changes.md",
    replication: "guide/replication.md",
    backup: "guide/backup.md",
    testing: "guide/testing.md",
    modelling: "recipes/modelling.md",
    query_recipes: "recipes/queries.md",
    writing: "recipes/writing.md",
    concurrency: "recipes/concurrency.md",
    operations: "recipes/operations.md",
    diesel: "coming-from/diesel.md",
    seaorm: "coming-from/seaorm.md",
    sqlx: "coming-from/sqlx.md",
    sqlalchemy: "coming-from/sqlalchemy.md",
    django: "coming-from/django.md",
    mormot: "coming-from/mormot.md",
    attributes: "reference/attributes.md",
    errors: "errors.md",
    docs_adding_an_engine: "../../docs/adding-an-engine.md",
    docs_change_capture: "../../docs/change-capture.md",
    docs_encryption: "../../docs/encryption.md",
    docs_field_encryption: "../../docs/field-encryption.md",
    docs_locations: "../../docs/locations.md",
    docs_migrations: "../../docs/migrations.md",
    docs_postgres: "../../docs/postgres.md",
    docs_replication: "../../docs/replication.md",
    docs_questions: "../../docs/questions.md",
    docs_search: "../../docs/search.md",
    docs_vectors: "../../docs/vectors.md",
    docs_blobs: "../../docs/blobs.md",
    docs_on_request: "../../docs/on-request.md",
    docs_arrow: "../../docs/arrow.md",
    docs_snapshot: "../../docs/snapshot.md",
    docs_statements: "../../docs/statements.md",
}
