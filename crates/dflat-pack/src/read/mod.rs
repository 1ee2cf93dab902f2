//! Reading packs.

mod begin;
mod iter;
mod layered;
#[cfg(feature = "map")]
mod mapped;
mod objects;
mod open;
mod options;
mod pack;
mod payloads;
mod reader;
mod records;
mod run;
mod set;
mod slots;
mod sought;
mod stored;
mod verify;

pub use begin::is_pack;
pub use iter::Iter;
pub(crate) use layered::{Held, ReadType};
pub use objects::Objects;
pub(crate) use objects::check_key;
pub(crate) use open::kind;
pub use options::OpenOptions;
pub use pack::Pack;
pub(crate) use payloads::StoredPayloads;
pub use reader::ObjectsReader;
pub(crate) use records::{Reach, RecordReader};
pub(crate) use run::Run;
pub use set::SetIter;
pub(crate) use sought::Sought;
