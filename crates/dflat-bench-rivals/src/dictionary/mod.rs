//! The dictionary of Dflat beside what people keep settings in otherwise: SQLite, redb, and a JSON
//! file that is written anew for each change.

mod store;
mod value;
mod work;

pub use store::{Open, STORES};
pub use work::{WORK, Work};
