//! Commits that another file has made.

mod copying;
mod faults;
mod garbage;
mod merging;
mod one_state;
mod parts;
mod random;
mod reading;
mod refs;
