//! Histories of concurrent transactions, recorded and checked.
//!
//! Every object is a register that holds a list of numbers, and a transaction writes by appending
//! its own number. A list that was read therefore shows which transactions came before, and in
//! which order. The checker derives the dependencies of transactions from the lists. If there is a
//! cycle, or one list contradicts another, no order of the transactions explains the history.

mod check;
mod record;

pub use check::check;
pub use record::record;

/// An object that holds a list.
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

/// A transaction as its caller saw it.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Its number, which it appends to lists.
    pub id: u64,
    /// The moment before it was requested.
    pub called: u64,
    /// The moment when its caller got the outcome.
    pub told: u64,
    /// Whether it was committed.
    pub committed: bool,
    /// The lists that it read, each before its own append.
    pub reads: Vec<Reading>,
    /// The lists to which it appended its number, each once.
    pub appends: Vec<Register>,
    /// Whether its completion is ordered by commit: not that of a plain read, nor one that was
    /// requested after the transaction had ended.
    pub ordered: bool,
}

/// A list that a subscriber received.
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
    /// The deliveries to subscribers of the objects, in order.
    pub deliveries: Vec<Delivery>,
    /// The lists in the end.
    pub last: Vec<Reading>,
}
