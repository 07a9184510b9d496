//! A load generator for HTTP/1.1: many keep-alive connections on one thread.
//!
//! It shares its processors with the server that it measures, so it is as cheap as possible: one write and one read for
//! each request, one wait for many of them, no allocations, and it parses only the checked parts of a response. It supports
//! only the HTTP that Bobak's listener sends.

mod connection;
mod load;
mod response;

pub(crate) use load::Load;
