//! Histories of concurrent transactions, recorded and checked.
//!
//! Every object is a register that holds a list of numbers, and a transaction writes by appending
//! its own: so a list that was read tells which transactions came before, and in which order. From
//! that the checker knows what depends on what; a cycle, or a list that contradicts another, is a
//! history that no order of the transactions explains.

mod check;
mod record;

pub use check::check;
pub use record::record;

/// A place where a list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// Which of the types.
    pub kind: usize,
    /// Which of its objects.
    pub key: usize,
}

/// A list that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Where.
    pub register: Register,
    /// The numbers of the transactions that had appended.
    pub list: Vec<u64>,
}

/// What a transaction did, as seen from outside.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Its number; what it appends.
    pub id: u64,
    /// The moment before it was asked for.
    pub called: u64,
    /// The moment when its outcome was told.
    pub told: u64,
    /// Whether it was committed.
    pub committed: bool,
    /// What it read before it changed it.
    pub reads: Vec<Reading>,
    /// Where it appended its number, each place once.
    pub appends: Vec<Register>,
    /// Whether it was told in the order of commits: not a plain read, nor a completion that was
    /// only asked for when all was done.
    pub ordered: bool,
}

/// A list that a subscriber was told.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// When.
    pub moment: u64,
    /// Of what.
    pub reading: Reading,
}

/// Everything that happened.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The transactions, and reads outside of transactions.
    pub events: Vec<Event>,
    /// What subscribers to the objects were told, in order.
    pub deliveries: Vec<Delivery>,
    /// The lists in the end.
    pub last: Vec<Reading>,
}
