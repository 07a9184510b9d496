//! Whole databases as well-known programs create them in SQLite, each with rows.

/// A database of a program, and what its first copy to a server loses.
pub struct Sample {
    pub name: &'static str,
    pub statements: Vec<String>,
    pub losses: Vec<&'static str>,
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

/// The tables that Laravel's migrations make: an enumeration is a CHECK, a boolean a number.
fn laravel() -> Sample {
    let schema = [
        "create table \"migrations\" (\"id\" integer primary key autoincrement not null, \"migration\" varchar not null, \
         \"batch\" integer not null)",
        "create table \"users\" (\"id\" integer primary key autoincrement not null, \"name\" varchar not null, \
         \"email\" varchar not null, \"verified_at\" datetime, \"created_at\" datetime, \"updated_at\" datetime)",
        "create unique index \"users_email_unique\" on \"users\" (\"email\")",
        "create table \"sessions\" (\"id\" varchar not null, \"user_id\" integer, \"payload\" text not null, \
         \"last_activity\" integer not null, primary key (\"id\"))",
        "create index \"sessions_user_id_index\" on \"sessions\" (\"user_id\")",
        "create table \"orders\" (\"id\" integer primary key autoincrement not null, \"user_id\" integer not null, \
         \"status\" varchar check (\"status\" in ('open', 'paid', 'sent')) not null default 'open', \
         \"total\" numeric not null default '0', \"gift\" tinyint(1) not null default '0', \"meta\" text, \
         \"due\" date, \"deleted_at\" datetime, foreign key(\"user_id\") references \"users\"(\"id\") on delete cascade)",
    ];
    let at = "'2024-05-06 07:08:09'";
    let rows = vec![
        insert("migrations", 9, |n| format!("{n}, '2024_01_0{n}_000000_create_x_table', 1")),
        insert("users", 80, |n| {
            let verified = null_every(3, n, at);
            format!("{n}, 'User {n}', 'u{n}@example.org', {verified}, {at}, {at}")
        }),
        insert("sessions", 40, |n| {
            format!("'s{n}', {}, 'YTo=', {}", null_every(2, n, "7"), 1_700_000_000 + n)
        }),
        insert("orders", 160, |n| {
            let status = ["open", "paid", "sent"][n % 3];
            let (meta, due) = (null_every(4, n, "'{\"a\":1}'"), null_every(5, n, "'2024-02-29'"));
            let total = format!("{}.{}", n, n % 4 * 25);
            format!("{n}, {}, '{status}', {total}, {}, {meta}, {due}, NULL", n % 80 + 1, n % 2)
        }),
    ];
    sample("laravel", &schema, rows, &[])
}

/// The tables of EF Core: each column is INTEGER, REAL, TEXT or BLOB, also those of decimals, dates and GUIDs.
fn ef_core() -> Sample {
    let schema = [
        "CREATE TABLE \"__EFMigrationsHistory\" (\"MigrationId\" TEXT NOT NULL \
         CONSTRAINT \"PK___EFMigrationsHistory\" PRIMARY KEY, \"ProductVersion\" TEXT NOT NULL)",
        "CREATE TABLE \"Blogs\" (\"BlogId\" INTEGER NOT NULL CONSTRAINT \"PK_Blogs\" PRIMARY KEY AUTOINCREMENT, \
         \"Url\" TEXT NULL, \"Rating\" REAL NOT NULL DEFAULT 2.5, \"IsPublic\" INTEGER NOT NULL, \"Price\" TEXT NOT NULL, \
         \"Created\" TEXT NOT NULL, \"RowVersion\" BLOB NULL)",
        "CREATE TABLE \"Tags\" (\"TagId\" TEXT NOT NULL CONSTRAINT \"PK_Tags\" PRIMARY KEY)",
        "CREATE TABLE \"Posts\" (\"PostId\" TEXT NOT NULL CONSTRAINT \"PK_Posts\" PRIMARY KEY, \"BlogId\" INTEGER NOT NULL, \
         \"ParentId\" TEXT NULL, \"Title\" TEXT COLLATE NOCASE NOT NULL, \
         CONSTRAINT \"FK_Posts_Blogs_BlogId\" FOREIGN KEY (\"BlogId\") REFERENCES \"Blogs\" (\"BlogId\") ON DELETE CASCADE, \
         CONSTRAINT \"FK_Posts_Posts_ParentId\" FOREIGN KEY (\"ParentId\") REFERENCES \"Posts\" (\"PostId\") ON DELETE RESTRICT)",
        "CREATE TABLE \"PostTag\" (\"PostsPostId\" TEXT NOT NULL, \"TagsTagId\" TEXT NOT NULL, \
         CONSTRAINT \"PK_PostTag\" PRIMARY KEY (\"PostsPostId\", \"TagsTagId\"), CONSTRAINT \"FK_PostTag_Posts\" \
         FOREIGN KEY (\"PostsPostId\") REFERENCES \"Posts\" (\"PostId\") ON DELETE CASCADE, CONSTRAINT \"FK_PostTag_Tags\" \
         FOREIGN KEY (\"TagsTagId\") REFERENCES \"Tags\" (\"TagId\") ON DELETE CASCADE)",
        "CREATE INDEX \"IX_Posts_BlogId\" ON \"Posts\" (\"BlogId\")",
        "CREATE INDEX \"IX_PostTag_TagsTagId\" ON \"PostTag\" (\"TagsTagId\")",
    ];
    let id = |n: usize| format!("0190D1A0-0000-7000-8000-{n:012X}");
    let rows = vec![
        insert("__EFMigrationsHistory", 5, |n| format!("'2024010{n}000000_M{n}', '8.0.1'")),
        insert("Blogs", 30, |n| {
            let (url, version) = (null_every(6, n, "'https://x'"), null_every(2, n, "x'00ff'"));
            let at = "'2024-02-29 10:11:12.1234567'";
            format!("{n}, {url}, {n}.5, {}, '{n}.10', {at}, {version}", n % 2)
        }),
        insert("Tags", 10, |n| format!("'tag{n}'")),
        insert("Posts", 120, |n| {
            let parent = null_every(2, n, &format!("'{}'", id(1)));
            format!("'{}', {}, {parent}, 'Title {n}'", id(n), n % 30 + 1)
        }),
        insert("PostTag", 200, |n| {
            format!("'{}', 'tag{}'", id((n - 1) % 100 + 1), (n - 1) / 100 + 1)
        }),
    ];
    sample("ef core", &schema, rows, &[])
}

/// The tables of Prisma: instants are milliseconds, tables of relations have no key.
fn prisma() -> Sample {
    let schema = [
        "CREATE TABLE \"_prisma_migrations\" (\"id\" TEXT PRIMARY KEY NOT NULL, \"checksum\" TEXT NOT NULL, \
         \"finished_at\" DATETIME, \"logs\" TEXT, \"started_at\" DATETIME NOT NULL DEFAULT current_timestamp, \
         \"applied_steps_count\" INTEGER UNSIGNED NOT NULL DEFAULT 0)",
        "CREATE TABLE \"User\" (\"id\" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, \"email\" TEXT NOT NULL, \
         \"createdAt\" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, \"balance\" DECIMAL NOT NULL DEFAULT 0, \
         \"admin\" BOOLEAN NOT NULL DEFAULT false, \"picture\" BLOB, \"views\" BIGINT NOT NULL, \"extra\" JSONB)",
        "CREATE UNIQUE INDEX \"User_email_key\" ON \"User\"(\"email\")",
        "CREATE TABLE \"Post\" (\"id\" TEXT NOT NULL PRIMARY KEY, \"title\" TEXT NOT NULL, \"authorId\" INTEGER, \
         CONSTRAINT \"Post_authorId_fkey\" FOREIGN KEY (\"authorId\") REFERENCES \"User\" (\"id\") \
         ON DELETE SET NULL ON UPDATE CASCADE)",
        "CREATE TABLE \"_PostToUser\" (\"A\" TEXT NOT NULL, \"B\" INTEGER NOT NULL, \
         CONSTRAINT \"_PostToUser_A_fkey\" FOREIGN KEY (\"A\") REFERENCES \"Post\" (\"id\") ON DELETE CASCADE ON UPDATE CASCADE, \
         CONSTRAINT \"_PostToUser_B_fkey\" FOREIGN KEY (\"B\") REFERENCES \"User\" (\"id\") ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE UNIQUE INDEX \"_PostToUser_AB_unique\" ON \"_PostToUser\"(\"A\", \"B\")",
        "CREATE INDEX \"_PostToUser_B_index\" ON \"_PostToUser\"(\"B\")",
    ];
    let rows = vec![
        insert("_prisma_migrations", 6, |n| {
            let at = 1_700_000_000_123_usize + n;
            format!("'m{n}', 'abc', {}, NULL, {at}, 1", null_every(4, n, &at.to_string()))
        }),
        insert("\"User\"", 70, |n| {
            let (picture, extra) = (null_every(2, n, "x'ff00'"), null_every(3, n, "'{\"a\":[]}'"));
            let at = 1_700_000_000_123_usize + n;
            format!("{n}, 'u{n}', {at}, {n}.25, {}, {picture}, {at}, {extra}", n % 2)
        }),
        insert("\"Post\"", 90, |n| {
            format!("'ck{n}', 'T {n}', {}", null_every(3, n, &format!("{}", n % 70 + 1)))
        }),
        insert("\"_PostToUser\"", 90, |n| format!("'ck{n}', {}", n % 70 + 1)),
    ];
    let losses = [
        "_prisma_migrations: default current_timestamp of column started_at",
        "User: default CURRENT_TIMESTAMP of column createdAt",
    ];
    sample("prisma", &schema, rows, &losses)
}

/// All of them.
pub fn samples() -> Vec<Sample> {
    let first = [chinook(), northwind(), sakila(), django(), rails(), drizzle()];
    first.into_iter().chain([laravel(), ef_core(), prisma()]).collect()
}
