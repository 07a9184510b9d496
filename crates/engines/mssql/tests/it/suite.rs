//! The conformance suite; each case in a database of its own.

use crate::stores::fresh;
bobak_testkit::conformance!(fresh);
