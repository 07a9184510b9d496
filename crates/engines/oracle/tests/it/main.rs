//! Tests of the Oracle engine: with scripted responses of a driver, on H2 and HSQLDB if `BOBAK_TEST_H2` and `BOBAK_TEST_HSQLDB` name
//! their jars, and against the server that `BOBAK_TEST_ORACLE` names, if it does.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod hsqldb; // the statements on HSQLDB
mod peer; // the driver that talks to H2
mod script;
mod stores; // a database for each test // a driver whose responses a test makes

mod foreign; // tables of other programs
mod model; // random programs on two stores
mod moves; // indexes of long texts
mod net; // the driver without a server
mod scripted; // what the engine makes of responses
mod suite; // the conformance suite
