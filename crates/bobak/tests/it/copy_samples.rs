//! Whole databases in the forms in which well-known programs create them, copied from SQLite to PostgreSQL, on to
//! MariaDB, and back to SQLite: every rule and value is kept, or was listed beforehand as lost.

use bobak::copy::CopyOptions;
use bobak::prelude::*;
use bobak::schema::TableSchema;

/// A database of a program, and what its first copy to a server loses.
struct Sample {
    name: &'static str,
    statements: Vec<String>,
    losses: Vec<&'static str>,
}

fn sample(
    name: &'static str,
    schema: &[&str],
    rows: Vec<String>,
    losses: &[&'static str],
) -> Sample {
    let mut statements: Vec<String> = schema.iter().map(|sql| (*sql).to_owned()).collect();
    statements.extend(rows);
    Sample { name, statements, losses: losses.to_vec() }
}

/// One INSERT with `count` rows, whose values `row` makes of their number.
fn insert(table: &str, count: usize, row: impl Fn(usize) -> String) -> String {
    let rows: Vec<String> = (1..=count).map(|number| format!("({})", row(number))).collect();
    format!("INSERT INTO {table} VALUES {}", rows.join(", "))
}

fn null_every(period: usize, number: usize, text: &str) -> String {
    if number.is_multiple_of(period) { "NULL".to_owned() } else { text.to_owned() }
}

/// A music shop.
fn chinook() -> Sample {
    let schema = [
        "CREATE TABLE [Artist] ([ArtistId] INTEGER NOT NULL, [Name] NVARCHAR(120), \
         CONSTRAINT [PK_Artist] PRIMARY KEY ([ArtistId]))",
        "CREATE TABLE [Album] ([AlbumId] INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, [Title] NVARCHAR(160) NOT NULL, \
         [ArtistId] INTEGER NOT NULL, FOREIGN KEY ([ArtistId]) REFERENCES [Artist] ([ArtistId]) \
         ON DELETE NO ACTION ON UPDATE NO ACTION)",
        "CREATE TABLE [Track] ([TrackId] INTEGER NOT NULL PRIMARY KEY, [Name] NVARCHAR(200) NOT NULL, \
         [AlbumId] INTEGER, [Composer] NVARCHAR(220), [Milliseconds] INTEGER NOT NULL, [Bytes] INTEGER, \
         [UnitPrice] NUMERIC(10,2) NOT NULL, FOREIGN KEY ([AlbumId]) REFERENCES [Album] ([AlbumId]))",
        "CREATE TABLE [Playlist] ([PlaylistId] INTEGER NOT NULL PRIMARY KEY, [Name] NVARCHAR(120))",
        "CREATE TABLE [PlaylistTrack] ([PlaylistId] INTEGER NOT NULL, [TrackId] INTEGER NOT NULL, \
         CONSTRAINT [PK_PlaylistTrack] PRIMARY KEY ([PlaylistId], [TrackId]), \
         FOREIGN KEY ([PlaylistId]) REFERENCES [Playlist] ([PlaylistId]), \
         FOREIGN KEY ([TrackId]) REFERENCES [Track] ([TrackId]))",
        "CREATE TABLE [Employee] ([EmployeeId] INTEGER NOT NULL PRIMARY KEY, [LastName] NVARCHAR(20) NOT NULL, \
         [ReportsTo] INTEGER, [BirthDate] DATETIME, FOREIGN KEY ([ReportsTo]) REFERENCES [Employee] ([EmployeeId]))",
        "CREATE INDEX [IFK_AlbumArtistId] ON [Album] ([ArtistId])",
        "CREATE INDEX [IFK_TrackAlbumId] ON [Track] ([AlbumId])",
        "CREATE UNIQUE INDEX [IPK_PlaylistTrack] ON [PlaylistTrack] ([PlaylistId], [TrackId])",
    ];
    let rows = vec![
        insert("Artist", 60, |n| {
            format!("{n}, {}", null_every(20, n, &format!("'Artist {n} – é''s'")))
        }),
        insert("Album", 120, |n| format!("{n}, 'Album {n}', {}", n % 60 + 1)),
        "DELETE FROM Album WHERE AlbumId = 120".to_owned(),
        insert("Track", 300, |n| {
            let (album, composer) =
                (null_every(7, n, &(n % 119 + 1).to_string()), null_every(3, n, "''"));
            let bytes = null_every(5, n, &(n * 1_000_003).to_string());
            format!("{n}, 'Track {n}', {album}, {composer}, {}, {bytes}, {}.99", n * 1_000, n % 2)
        }),
        insert("Playlist", 10, |n| format!("{n}, 'List {n}'")),
        insert("PlaylistTrack", 200, |n| format!("{}, {n}", n % 10 + 1)),
        insert("Employee", 8, |n| {
            let boss = null_every(8, n, &(n + 1).to_string());
            format!("{n}, 'Name {n}', {boss}, '19{}-02-18 00:00:00'", 60 + n)
        }),
    ];
    sample("chinook", &schema, rows, &[])
}

/// A trading company: names with blanks, keys of text, two columns with one unique rule, pictures.
fn northwind() -> Sample {
    let schema = [
        "CREATE TABLE [Customers] ([CustomerID] TEXT, [CompanyName] TEXT, PRIMARY KEY (`CustomerID`))",
        "CREATE TABLE [Categories] ([CategoryID] INTEGER PRIMARY KEY AUTOINCREMENT, [CategoryName] TEXT UNIQUE, \
         [Picture] BLOB)",
        "CREATE TABLE [Products] ([ProductID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, [ProductName] TEXT NOT NULL, \
         [CategoryID] INTEGER, [UnitPrice] NUMERIC DEFAULT 0, [UnitsInStock] INTEGER DEFAULT 0, \
         [Discontinued] TEXT NOT NULL DEFAULT '0', CHECK ([UnitPrice]>=(0)), CHECK ([UnitsInStock]>=(0)), \
         FOREIGN KEY ([CategoryID]) REFERENCES [Categories] ([CategoryID]))",
        "CREATE TABLE [Orders] ([OrderID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, [CustomerID] TEXT, \
         [OrderDate] DATETIME, [ShippedDate] DATETIME, [Freight] NUMERIC DEFAULT 0, \
         FOREIGN KEY ([CustomerID]) REFERENCES [Customers] ([CustomerID]))",
        "CREATE TABLE [Order Details] ([OrderID] INTEGER NOT NULL, [ProductID] INTEGER NOT NULL, \
         [UnitPrice] NUMERIC NOT NULL DEFAULT 0, [Quantity] INTEGER NOT NULL DEFAULT 1, \
         [Discount] REAL NOT NULL DEFAULT 0, PRIMARY KEY (\"OrderID\", \"ProductID\"), \
         CHECK ([Discount]>=(0) AND [Discount]<=(1)), CHECK ([Quantity]>(0)), \
         FOREIGN KEY ([OrderID]) REFERENCES [Orders] ([OrderID]), \
         FOREIGN KEY ([ProductID]) REFERENCES [Products] ([ProductID]))",
        "CREATE TABLE [Shipments] ([ShipmentID] INTEGER PRIMARY KEY, [OrderID] INTEGER, [ProductID] INTEGER, \
         FOREIGN KEY ([OrderID], [ProductID]) REFERENCES [Order Details] ([OrderID], [ProductID]) ON DELETE CASCADE)",
        "CREATE VIEW [Alphabetical list of products] AS SELECT ProductName FROM Products ORDER BY ProductName",
    ];
    let rows = vec![
        insert("Customers", 90, |n| {
            format!("'C{n:04}', {}", null_every(11, n, &format!("'Company {n}'")))
        }),
        insert("Categories", 8, |n| {
            format!("{n}, 'Category {n}', {}", null_every(3, n, &format!("x'89504e47{n:02}'")))
        }),
        insert("Products", 77, |n| {
            format!("{n}, 'Product {n}', {}, {n}.25, {n}, '{}'", n % 8 + 1, n % 2)
        }),
        insert("Orders", 200, |n| {
            let sent = null_every(9, n, "'1997-01-02 00:00:00'");
            format!(
                "{n}, 'C{:04}', '1996-07-{:02} 10:00:00', {sent}, {n}.5",
                n % 90 + 1,
                n % 28 + 1
            )
        }),
        insert("[Order Details]", 300, |n| {
            format!("{}, {}, 1{n}.75, {n}, 0.{}", (n - 1) % 200 + 1, (n - 1) / 200 + 1, n % 3 * 25)
        }),
        insert("Shipments", 100, |n| format!("{n}, {n}, {}", null_every(10, n, "1"))),
    ];
    sample("northwind", &schema, rows, &["Alphabetical list of products: view"])
}

/// A film rental: views, triggers, expression defaults, tables that name each other.
fn sakila() -> Sample {
    let schema = [
        "CREATE TABLE language (language_id SMALLINT NOT NULL, name CHAR(20) NOT NULL, \
         last_update TIMESTAMP NOT NULL, PRIMARY KEY (language_id))",
        "CREATE TABLE film (film_id INT NOT NULL, title VARCHAR(255) NOT NULL, \
         description BLOB SUB_TYPE TEXT DEFAULT NULL, release_year VARCHAR(4) DEFAULT NULL, \
         language_id SMALLINT NOT NULL, original_language_id SMALLINT DEFAULT NULL, \
         rental_rate DECIMAL(4,2) DEFAULT 4.99 NOT NULL, rating VARCHAR(10) DEFAULT 'G', \
         special_features VARCHAR(100) DEFAULT NULL, last_update TIMESTAMP NOT NULL, PRIMARY KEY (film_id), \
         CONSTRAINT CHECK_special_rating CHECK (rating IN ('G','PG','PG-13','R','NC-17')), \
         CONSTRAINT fk_film_language FOREIGN KEY (language_id) REFERENCES language (language_id), \
         CONSTRAINT fk_film_language_original FOREIGN KEY (original_language_id) REFERENCES language (language_id))",
        "CREATE INDEX idx_fk_language_id ON film (language_id)",
        "CREATE TABLE staff (staff_id SMALLINT NOT NULL, name VARCHAR(45) NOT NULL, picture BLOB DEFAULT NULL, \
         store_id INT NOT NULL, active SMALLINT DEFAULT 1 NOT NULL, last_update TIMESTAMP NOT NULL, \
         PRIMARY KEY (staff_id), FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE NO ACTION \
         ON UPDATE CASCADE)",
        "CREATE TABLE store (store_id INT NOT NULL, manager_staff_id SMALLINT, last_update TIMESTAMP NOT NULL, \
         PRIMARY KEY (store_id), FOREIGN KEY (manager_staff_id) REFERENCES staff (staff_id))",
        "CREATE TRIGGER film_trigger_au AFTER UPDATE ON film BEGIN UPDATE film SET last_update = DATETIME('NOW') \
         WHERE rowid = new.rowid; END",
        "CREATE VIEW film_list AS SELECT film_id, title FROM film",
    ];
    let at = "'2020-12-23 07:12:31'";
    let rows = vec![
        insert("language", 6, |n| format!("{n}, 'Language {n}', {at}")),
        insert("film", 250, |n| {
            let original = null_every(2, n, &(n % 6 + 1).to_string());
            let rating = ["G", "PG", "PG-13", "R", "NC-17"][n % 5];
            format!(
                "{n}, 'Film {n}', {}, '2006', {}, {original}, {}.99, '{rating}', {}, {at}",
                null_every(4, n, "'An epic tale'"),
                n % 6 + 1,
                n % 5,
                null_every(3, n, "'Trailers,Deleted Scenes'")
            )
        }),
        format!("INSERT INTO store VALUES (1, NULL, {at}), (2, NULL, {at})"),
        insert("staff", 2, |n| {
            format!("{n}, 'Mike', {}, {n}, 1, {at}", null_every(2, n, "x'00ff'"))
        }),
        "UPDATE store SET manager_staff_id = store_id".to_owned(),
    ];
    sample("sakila", &schema, rows, &["film: trigger film_trigger_au", "film_list: view"])
}

/// The tables of Django's own applications, and a model with a JSON field.
fn django() -> Sample {
    let schema = [
        "CREATE TABLE \"django_migrations\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \
         \"app\" varchar(255) NOT NULL, \"name\" varchar(255) NOT NULL, \"applied\" datetime NOT NULL)",
        "CREATE TABLE \"django_content_type\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \
         \"app_label\" varchar(100) NOT NULL, \"model\" varchar(100) NOT NULL)",
        "CREATE UNIQUE INDEX \"django_content_type_app_label_model_uniq\" ON \"django_content_type\" \
         (\"app_label\", \"model\")",
        "CREATE TABLE \"auth_user\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \
         \"password\" varchar(128) NOT NULL, \"last_login\" datetime NULL, \"is_superuser\" bool NOT NULL, \
         \"username\" varchar(150) NOT NULL UNIQUE, \"date_joined\" datetime NOT NULL)",
        "CREATE TABLE \"auth_permission\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \
         \"content_type_id\" integer NOT NULL REFERENCES \"django_content_type\" (\"id\") DEFERRABLE INITIALLY DEFERRED, \
         \"codename\" varchar(100) NOT NULL, \"name\" varchar(255) NOT NULL)",
        "CREATE TABLE \"auth_user_user_permissions\" (\"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \
         \"user_id\" integer NOT NULL REFERENCES \"auth_user\" (\"id\") DEFERRABLE INITIALLY DEFERRED, \
         \"permission_id\" integer NOT NULL REFERENCES \"auth_permission\" (\"id\") DEFERRABLE INITIALLY DEFERRED)",
        "CREATE UNIQUE INDEX \"auth_user_user_permissions_user_id_permission_id_uniq\" ON \
         \"auth_user_user_permissions\" (\"user_id\", \"permission_id\")",
        "CREATE INDEX \"auth_user_user_permissions_user_id\" ON \"auth_user_user_permissions\" (\"user_id\")",
        "CREATE TABLE \"django_session\" (\"session_key\" varchar(40) NOT NULL PRIMARY KEY, \
         \"session_data\" text NOT NULL, \"expire_date\" datetime NOT NULL)",
        "CREATE TABLE \"shop_item\" (\"id\" char(32) NOT NULL PRIMARY KEY, \"price\" decimal NOT NULL, \
         \"stock\" integer unsigned NOT NULL CHECK (\"stock\" >= 0), \"weight\" real NULL, \
         \"data\" text NOT NULL CHECK ((JSON_VALID(\"data\") OR \"data\" IS NULL)), \"day\" date NULL, \
         \"at\" time NULL, \"duration\" bigint NULL)",
    ];
    let rows = vec![
        insert("django_migrations", 20, |n| {
            format!("{n}, 'auth', '{n:04}_x', '2024-01-{n:02} 10:11:12.{n:06}'")
        }),
        insert("django_content_type", 30, |n| format!("{n}, 'app', 'model{n}'")),
        insert("auth_user", 100, |n| {
            let last = null_every(4, n, &format!("'2024-02-01 10:00:00.{n:06}'"));
            format!("{n}, 'pbkdf2$x', {last}, {}, 'user{n}', '2023-05-06 07:08:09'", n % 2)
        }),
        insert("auth_permission", 120, |n| format!("{n}, {}, 'code{n}', ''", n % 30 + 1)),
        insert("auth_user_user_permissions", 200, |n| {
            format!("{n}, {}, {}", (n - 1) % 100 + 1, (n - 1) / 100 + 1)
        }),
        insert("django_session", 50, |n| format!("'key{n}', 'data', '2024-03-01 00:00:00.5'")),
        insert("shop_item", 150, |n| {
            let (day, at) = (null_every(3, n, "'2024-02-29'"), null_every(5, n, "'10:11:12'"));
            format!(
                "'{n:032x}', {n}.25, {n}, {}, '{{\"n\": [{n}]}}', {day}, {at}, {}",
                null_every(2, n, "0.5"),
                n * 1_000_000_000
            )
        }),
    ];
    sample("django", &schema, rows, &["shop_item: CHECK"])
}

/// The tables that Rails keeps, and a model with its time stamps.
fn rails() -> Sample {
    let schema = [
        "CREATE TABLE \"schema_migrations\" (\"version\" varchar NOT NULL PRIMARY KEY)",
        "CREATE TABLE \"ar_internal_metadata\" (\"key\" varchar NOT NULL PRIMARY KEY, \"value\" varchar, \
         \"created_at\" datetime(6) NOT NULL, \"updated_at\" datetime(6) NOT NULL)",
        "CREATE TABLE \"users\" (\"id\" integer PRIMARY KEY AUTOINCREMENT NOT NULL, \"email\" varchar DEFAULT '' NOT NULL, \
         \"admin\" boolean DEFAULT 0, \"balance\" decimal(10,2), \"created_at\" datetime(6) NOT NULL, \
         \"updated_at\" datetime(6) NOT NULL)",
        "CREATE UNIQUE INDEX \"index_users_on_email\" ON \"users\" (\"email\")",
        "CREATE TABLE \"posts\" (\"id\" integer PRIMARY KEY AUTOINCREMENT NOT NULL, \"title\" varchar(80), \"body\" text, \
         \"user_id\" integer NOT NULL, \"created_at\" datetime(6) NOT NULL, CONSTRAINT \"fk_rails_5b5ddfd518\" \
         FOREIGN KEY (\"user_id\") REFERENCES \"users\" (\"id\"))",
        "CREATE INDEX \"index_posts_on_user_id\" ON \"posts\" (\"user_id\")",
    ];
    let at = "'2024-01-02 03:04:05.678901'";
    let rows = vec![
        insert("schema_migrations", 12, |n| format!("'202401{n:02}000000'")),
        format!(
            "INSERT INTO ar_internal_metadata VALUES ('environment', 'test', {at}, {at}), ('x', NULL, {at}, {at})"
        ),
        insert("users", 100, |n| {
            format!("{n}, 'u{n}@example.org', {}, {}, {at}, {at}", n % 2, null_every(3, n, "12.5"))
        }),
        insert("posts", 250, |n| {
            let title = null_every(9, n, "'Grüße 👋'");
            format!("{n}, {title}, {}, {}, {at}", null_every(2, n, "''"), n % 100 + 1)
        }),
    ];
    sample("rails", &schema, rows, &[])
}

/// Drizzle's journal has `SERIAL PRIMARY KEY`, which SQLite takes for a type without a row number: all keys are NULL.
fn drizzle() -> Sample {
    let schema = [
        "CREATE TABLE \"__drizzle_migrations\" (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)",
        "CREATE TABLE `users` (`id` integer PRIMARY KEY NOT NULL, `name` text, `created` integer DEFAULT (unixepoch()))",
    ];
    let rows = vec![
        insert("__drizzle_migrations", 40, |n| {
            format!("NULL, 'hash{n}', {}", 1_700_000_000_000_usize + n)
        }),
        insert("users", 100, |n| format!("{n}, {}, {n}", null_every(6, n, "'Ada'"))),
    ];
    let losses = [
        "users: default unixepoch() of column created",
        "__drizzle_migrations: PRIMARY KEY (id), which is NULL in 40 rows",
    ];
    sample("drizzle", &schema, rows, &losses)
}

fn samples() -> Vec<Sample> {
    vec![chinook(), northwind(), sakila(), django(), rails(), drizzle()]
}

fn open(sample: &Sample) -> Db {
    let db = Db::open("sqlite::memory:").unwrap();
    db.transaction(|db| {
        db.execute("PRAGMA defer_foreign_keys = on", ())?;
        sample.statements.iter().try_for_each(|sql| db.execute(sql, ()).map(drop))
    })
    .unwrap_or_else(|error| panic!("{}: {error}", sample.name));
    db
}

fn sorted_tables(db: &Db) -> Vec<TableSchema> {
    let mut tables = db.tables().unwrap();
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    tables
}

fn rows(db: &Db, table: &str) -> Vec<Vec<Value<'static>>> {
    let rows = db.dynamic(table).unwrap().list(Query::all()).unwrap();
    rows.iter().map(|row| row.values().to_vec()).collect()
}

/// Copies everything; returns what is lost.
fn copy(from: &Db, to: &Db) -> Vec<String> {
    let losses = from.copy_losses(to, &[]).unwrap().iter().map(ToString::to_string).collect();
    let options = CopyOptions::new().checksum(true).allow_loss(true);
    from.copy_to(to, &[], &options, |_| {}).unwrap();
    losses
}

/// Whether the losses are those expected, which may be given by their beginning.
fn check_losses(what: &str, losses: &[String], expected: &[&str]) {
    let fits = losses.len() == expected.len()
        && losses.iter().zip(expected).all(|(loss, expected)| loss.starts_with(expected));
    assert!(fits, "{what}: {losses:#?} where {expected:#?} were expected");
}

#[test]
fn samples_are_copied_to_sqlite_as_they_are() {
    for sample in samples() {
        let from = open(&sample);
        let to = Db::open("sqlite::memory:").unwrap();
        let expected: Vec<&str> =
            sample.losses.iter().copied().filter(|loss| !loss.contains("CHECK")).collect();
        check_losses(sample.name, &copy(&from, &to), &expected);
        for (a, b) in sorted_tables(&from).iter().zip(&sorted_tables(&to)) {
            let name = a.name();
            if !expected.iter().any(|loss| loss.starts_with(&format!("{name}: "))) {
                assert!(a.same_as(b), "{}: {a:#?}\n{b:#?}", sample.name);
                assert_eq!(rows(&from, name), rows(&to, name), "{}: {name}", sample.name);
            }
        }
    }
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn samples_go_round() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    for sample in samples() {
        // Each has its own databases, so that names do not meet.
        let (postgres, mariadb) =
            (bobak_servers::Postgres::start().unwrap(), bobak_servers::MariaDb::start().unwrap());
        let mut from = open(&sample);
        let mut before: Option<Vec<TableSchema>> = None;
        let mut contents: Option<Vec<Vec<Vec<Value<'static>>>>> = None;
        for url in [postgres.url(), mariadb.url(), "sqlite::memory:".to_owned()] {
            let to = Db::open(&url).unwrap();
            let losses = copy(&from, &to);
            let expected: Vec<&str> = match &before {
                None => sample.losses.clone(),
                Some(_) => Vec::new(),
            };
            let losses: Vec<String> =
                losses.into_iter().filter(|loss| !loss.contains("INITIALLY DEFERRED")).collect();
            check_losses(&format!("{} to {url}", sample.name), &losses, &expected);
            let tables = sorted_tables(&to);
            let found: Vec<_> = tables.iter().map(|table| rows(&to, table.name())).collect();
            if let Some(before) = &before {
                assert_eq!(before.len(), tables.len(), "{}", sample.name);
                for (a, b) in before.iter().zip(&tables) {
                    assert!(
                        not_deferred(a).same_as(&not_deferred(b)),
                        "{}: {a:#?}\n{b:#?}",
                        sample.name
                    );
                }
            }
            if let Some(contents) = &contents {
                assert!(*contents == found, "{} in {url}: the values differ", sample.name);
            }
            (before, contents, from) = (Some(tables), Some(found), to);
        }
    }
}

/// The table without the deferral of its foreign keys, which MariaDB does not have and a copy lists.
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn not_deferred(table: &TableSchema) -> TableSchema {
    let builder = table.clone().into_builder().map_columns(|mut column| {
        if let Some(reference) = &mut column.reference {
            reference.deferred = false;
        }
        column
    });
    builder.build().unwrap()
}
