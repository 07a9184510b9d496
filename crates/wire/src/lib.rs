//! Bobak's binary protocol: encoding and decoding of messages, shared by client and server.
//!
//! This crate opens no sockets.
//!
//! `docs/wire.md` describes every byte; the files in `vectors/` contain examples that the
//! tests of each implementation, in any language, decode. A connection carries [frames](FrameHeader). A client
//! sends [requests](Request), a server [responses](Response). Received bytes go into an [`Inbox`], which returns
//! whole frames; encoders append frames to a vector.
//!
//! ```
//! use bobak_wire::{Inbox, Request, encode_request};
//!
//! let mut bytes = Vec::new();
//! encode_request::ping(&mut bytes, 7);
//! let mut inbox = Inbox::new(1 << 20);
//! inbox.push(&bytes);
//! let header = inbox.next_frame()?.expect("the frame is complete");
//! let request = Request::decode(header, inbox.body(), &Default::default())?;
//! assert!(header.id == 7 && matches!(request, Request::Ping));
//! # Ok::<(), bobak_core::Error>(())
//! ```
//!
//! Decoders never panic, whatever the bytes. They allocate at most a small multiple of the bytes received.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adaptive_spin;
mod column_block;
mod condition;
pub mod encode_request;
pub mod encode_response;
mod error;
mod foreign_protocol;
mod frame;
mod handles;
mod hello;
mod inbox;
mod join;
mod limits;
mod outcome;
mod plan;
mod reader;
mod request;
mod response;
mod result_form;
mod schema;
mod select;
mod value;
mod writer;

pub use adaptive_spin::AdaptiveSpin;
pub use column_block::{BlockColumn, ColumnBlock, ColumnBlockEncoder};
pub use encode_request::RequestSource;
pub use foreign_protocol::ForeignProtocol;
pub use frame::{FrameHeader, FrameKind, HEADER_LENGTH};
pub use handles::{Handles, OtherTables};
pub use hello::{Credentials, Hello, Welcome};
pub use inbox::Inbox;
pub use limits::{Limits, VERSION};
pub use outcome::{OutcomeList, OutcomeWriter};
pub use plan::{plan_rows, plan_steps};
pub use request::{BatchPart, OwnedSource, Request};
pub use response::{Response, RowFrame};
pub use result_form::ResultForm;
pub use schema::read_schema;
