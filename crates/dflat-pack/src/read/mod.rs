//! Reading packs.

mod iter;
mod objects;
mod options;
mod pack;
mod records;
mod run;
mod set;
mod slots;
mod stored;
mod verify;

pub use iter::Iter;
pub use objects::{Objects, ObjectsReader};
pub use options::OpenOptions;
pub use pack::Pack;
pub(crate) use records::{Reach, RecordReader};
pub(crate) use run::Run;
pub use set::SetIter;
pub(crate) use stored::{StoredPayloads, StoredType};
