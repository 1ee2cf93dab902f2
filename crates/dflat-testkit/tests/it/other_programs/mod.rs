//! Commits, tables and triggers of other programs in the same file.

mod elsewhere;
mod foreign;
mod foreign_definitions;
mod foreign_indexes;
mod made_anew;
mod missing_keys;
mod retrying;
mod subscribing;
mod suspension;
