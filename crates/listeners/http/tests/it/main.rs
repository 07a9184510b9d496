//! The HTTP listener over real sockets, with a real client.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod administration; // accounts, backups and the state of the server
#[cfg(feature = "arrow")]
mod arrow; // exports and results as Arrow streams
mod asvs; // points of OWASP's standard that no other test shows
mod authentication; // guessed and changed secrets, SQL that no client may send
mod bad_input; // JSON bombs, slow headers, what error responses might reveal
mod bulk_changes; // of all rows that match; groups by their number; results as CSV
mod bulk_loads; // when imports and batches commit, and what they report
mod changes; // change feeds and histories
mod client; // a server with a few tables, and a client for it
mod composite_keys; // relations by foreign keys of several columns
mod connections; // listeners, limits, CORS, misbehaving clients
mod exact_values; // numbers and unusual values round-trip or are rejected
mod headers; // invalid headers, and bytes after a request
mod hidden_data; // random requests to two databases that differ in what is hidden
mod idle_clients; // ten thousand idle clients
mod interrupts; // endless requests, after their time limit or without a client
mod keys; // given keys, 0 included, and generated ones
mod large_imports; // imports of any length take little memory
mod log; // what the server logs about clients
mod lost_updates; // two editors of one row
mod mcp; // tools of language models, with the permissions of their token
mod memory; // how much memory a client can make the server use
mod migrations; // changes of the schema
mod nearest; // vectors, and the rows nearest to one
mod openapi; // the OpenAPI document is valid and true
mod openapi_client; // a client that knows only the document
mod pages; // of lists in any order
mod permissions; // what restricted clients see
mod queries; // queries and updates by expressions
mod quotas; // no client takes all workers, memory or connections
mod related_rows; // in responses and in filters
mod rows; // single rows and lists
mod rules; // of the records of a program that serves its database
mod schema_changes; // tables that change while the server runs
mod search; // full-text search of lists, exports and aggregates
mod statements; // their list and metrics
mod streams; // imports, exports, batches, aggregates
mod studio; // the web application, and the sessions of browsers
#[cfg(feature = "tls")]
mod tls; // connections over TLS
mod values; // single values as bytes, in ranges
mod views; // read, and not written
