//! The engine against a real server: the one that `BOBAK_TEST_POSTGRES` names. Without it each test
//! that needs one says so, and does nothing.

mod conformance; // the suite that every engine passes
mod model; // random programs, against the memory engine and against rows one by one
mod support; // servers and stores
