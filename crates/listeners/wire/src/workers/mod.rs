//! The threads that work for connections: workers run requests, and one thread checks passwords.

mod password_check;
mod worker;

pub(crate) use worker::start_worker;
