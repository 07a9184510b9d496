//! Runs the program as users do: arguments in, output and exit code out.

mod program; // how a test runs it

#[cfg(all(unix, feature = "acme"))]
mod acme; // certificates of an authority
#[cfg(unix)]
mod advise; // indexes, measured on a copy
mod backup; // written, checked, restored
mod bad_input; // each mistake: its exit code and its sentence
mod bench; // a small run, and its reports
#[cfg(unix)]
mod book; // the shell commands of the book
#[cfg(unix)]
mod caches; // rows that a server keeps in memory
mod check; // SQL in files, against a database's tables
#[cfg(feature = "parquet")]
mod columnar; // files of Arrow and Parquet
mod copy; // from one database to another
#[cfg(feature = "encryption")]
mod encryption; // keys by flags
mod export; // the forms of output
mod exports_come_back; // imports of every format
#[cfg(unix)]
mod http; // its HTTP listener

mod foreign_schema; // structs of tables that other programs created
mod framework_schema; // structs of tables of Django and Rails
mod import; // types, invalid lines, compression
#[cfg(unix)]
mod mcp; // tools of language models over standard input and output
mod migrate; // written, tried, carried out and undone
#[cfg(unix)]
mod permissions; // roles of a server's access file
mod query; // statements, parameters, types
mod replicate; // one database kept as another is
mod round_trip; // real data in and out without a loss
mod sample; // plausible rows
mod schema; // tables in words and in Rust
#[cfg(unix)]
mod serve; // its listeners, and its shutdown
#[cfg(unix)]
mod studio; // the link that signs a browser in
#[cfg(unix)]
mod user; // passwords from pipes and at a terminal; when a user is removed
mod workbook; // files of spreadsheet programs
