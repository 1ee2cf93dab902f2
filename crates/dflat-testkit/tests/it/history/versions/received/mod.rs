//! Commits that another file has made.

mod copying;
mod reading;
