//! The HTTP listener of Bobak: a REST API over databases, for programs in any language.
//!
//! An [`HttpServer`] serves the tables of its databases, whether a model declares them or another
//! program created them in an SQLite file. `docs/http.md` describes the API. `/openapi.json` describes
//! it to programs, with the types of the actual tables.
//!
//! ```
//! use bobak_http::HttpServer;
//! use bobak_memory::Memory;
//!
//! let server = HttpServer::builder()
//!     .database("main", Memory::new())
//!     .token("correct horse battery staple")
//!     .tcp("127.0.0.1:0")
//!     .start()?;
//! println!("listening on http://{}", server.addresses()[0]);
//! server.stop();
//! # Ok::<(), bobak_core::Error>(())
//! ```
//!
//! # The modules, from the top
//!
//! A module imports only from modules further down this list.
//!
//! * `server`: starts and stops everything.
//! * `connection`: accepts connections (TCP, TLS, Unix sockets) and speaks HTTP/1.1 on them.
//! * `service`: serves one request: authenticates it, finds its resource, builds the response.
//! * `mcp`: the Model Context Protocol over HTTP and standard input.
//! * `resources`: the resources, one file each: list, row, import, export, changes, SQL and so on.
//! * `openapi`: generates the OpenAPI document.
//! * `request`: what a request says: parameters, keys, row selection, preconditions, body.
//! * `state`: what all requests share: authentication, quotas, metrics, log.
//! * `json`: rows as JSON objects, and back.
//! * `database`: databases as a client may see them: schema cache, change feed, row writes.
//! * `response`: responses: entity tags, compression, streams, CORS.
//! * `workers`: blocking work on threads of its own, because engines block.
//! * `same_origin`: whether a browser's request is for a page of this server.
//! * `memory_budget`, `peer`, `route`, `problem`, `settings`: the basic nouns.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg(unix)]

mod connection;
mod database;
#[doc(hidden)]
pub mod decoders;
mod json;
mod mcp;
mod memory_budget;
mod openapi;
mod peer;
mod problem;
mod request;
mod resources;
mod response;
mod route;
mod same_origin;
mod server;
mod service;
mod settings;
mod state;
mod workers;

pub use server::HttpServer;
pub use settings::{Settings, SqlAccess};
