//! Commits that another file has made.

mod copying;
mod faults;
mod garbage;
mod merging;
mod random;
mod reading;
mod refs;
