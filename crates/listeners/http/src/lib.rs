//! The HTTP door of Bobak: databases for programs in any language.
//!
//! An [`HttpServer`] gives the tables that its engines have, whatever they are: a model's, or those
//! of an SQLite file that some other program made. `docs/http.md` tells what can be asked;
//! `/openapi.json` tells it to programs, with the types of the very tables that are there.
//!
//! ```
//! use bobak_memory::Memory;
//! use bobak_http::HttpServer;
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
//! In reading order: `server`, `listener` and `connection` take requests in, `service` leads each request
//! through `guests` (who asks), `route` (what for) and `model` (which table) to the file of its
//! noun: `list`, `row`, …. `answer` and `problem` are what comes back. Engines block, so their work
//! runs on threads of its own, a whole request or a part of a stream at a time (`work`, `stream`).
#![cfg(unix)]

mod aggregate;
mod answer;
mod batch;
mod call;
mod coding;
mod connection;
mod cors;
mod create;
#[doc(hidden)]
pub mod decoders;
mod etag;
mod events;
mod export;
mod feed;
mod guests;
mod head;
mod history;
mod home;
mod import;
mod json;
mod key;
mod lines;
mod list;
mod listener;
mod load;
mod memory;
mod metrics;
mod model;
mod names;
mod openapi;
mod parameters;
mod patient;
mod problem;
mod route;
mod row;
mod selection;
mod server;
mod service;
mod settings;
mod sight;
mod sql;
mod stream;
mod tables;
mod turns;
mod upload;
mod visitor;
mod work;
mod write;

pub use server::HttpServer;
pub use settings::{Settings, SqlAccess};
