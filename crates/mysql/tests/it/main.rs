//! Tests of the MariaDB and MySQL engine.
