//! A client of HTTP/1.1 that makes load: many connections that are kept alive, on one thread.
//!
//! It shares its processors with the server that it measures, so it is as cheap as it can be: a
//! write and a read for each request, one wait for many of them, nothing allocated, and of an
//! answer only what is checked is looked at. It knows no more of HTTP than Bobak's door says.

mod answer;
mod connection;
mod load;

pub(crate) use load::Load;
