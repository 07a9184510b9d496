//! Tests of the protocol from outside.
