//! The book and the pages of docs/ as a whole: nothing is left out, and what they name exists.

mod facts; // names of tests, settings and kinds of errors, compared with the code
mod pages; // the pages of the book, with included ones
mod structure; // the table of contents, and the programs
