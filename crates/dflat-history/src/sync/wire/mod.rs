//! The messages of an exchange, and the connection that carries them.

mod channel;
mod limits;
mod message;
mod part;

pub use channel::Stream;
pub(super) use channel::{Channel, too_much};
pub use limits::SyncLimits;
pub(super) use message::{MARKS_MAX, Message, OFFERED_MAX, Refusal, Request, VERSION, malformed};
pub(super) use part::{Item, Items, Sent};
