//! Text for the terminal and for other programs.

mod escape;
mod json;
mod quantity;
mod table;

pub(crate) use escape::{controls_terminal, escaped};
pub(crate) use json::{Entries, write_json};
pub(crate) use quantity::{bar, bytes, time};
pub(crate) use table::{Alignment, TableWriter, has_colours};
