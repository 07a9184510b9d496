//! The conformance suite; each case in a database of its own.

use crate::stores::Stores;
bobak_testkit::conformance!(Stores);
