//! Bobak's binary protocol as bytes: both ends share it, and neither finds a socket here.
//!
//! `docs/wire.md` describes every byte; the files in `vectors/` hold examples that each
//! implementation, in any language, reads. A connection carries [frames](FrameHeader); a client's frames
//! are [requests](Request), a server's are [answers](Response). Bytes go into an [`Inbox`], whole
//! frames come out; what is written goes into plain vectors.
//!
//! ```
//! use bobak_wire::{Inbox, Request, encode_request};
//!
//! let mut bytes = Vec::new();
//! encode_request::ping(&mut bytes, 7);
//! let mut inbox = Inbox::new(1 << 20);
//! inbox.push(&bytes);
//! let head = inbox.next_frame()?.expect("the frame is whole");
//! let request = Request::decode(head, inbox.body(), &Default::default())?;
//! assert!(head.id == 7 && matches!(request, Request::Ping));
//! # Ok::<(), bobak_core::Error>(())
//! ```
//!
//! Decoders never panic, and allocate no more than a small multiple of the bytes that arrived.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod adaptive_spin;
mod condition;
pub mod encode_request;
pub mod encode_response;
mod error;
mod foreign_protocol;
mod frame;
mod handles;
mod hello;
mod inbox;
mod limits;
mod outcome;
mod reader;
mod request;
mod response;
mod schema;
mod select;
mod value;
mod writer;

pub use adaptive_spin::AdaptiveSpin;
pub use encode_request::RequestSource;
pub use foreign_protocol::ForeignProtocol;
pub use frame::{FrameHeader, FrameKind, HEADER_LENGTH};
pub use handles::Handles;
pub use hello::{Credentials, Hello, Welcome};
pub use inbox::Inbox;
pub use limits::{Limits, VERSION};
pub use outcome::{OutcomeWriter, Outcomes};
pub use request::{BatchPart, OwnedSource, Request};
pub use response::{Column, Response, Rows};
pub use schema::read_schema;
