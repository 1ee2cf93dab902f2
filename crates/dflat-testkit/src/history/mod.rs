//! Histories of concurrent transactions, recorded and checked.
//!
//! Every object is a register that holds a list of numbers, and a transaction writes by appending
//! its own number. A list that was read therefore shows which transactions came before, and in
//! which order. The checker derives the dependencies of transactions from the lists. If there is a
//! cycle, or one list contradicts another, no order of the transactions explains the history.

mod check;
mod clock;
mod record;
mod text;

pub use check::check;
pub use clock::Clock;
pub use record::{Recorder, fill, last_lists, record};
pub use text::{add_line, to_lines};

/// An object that holds a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// The number of the type.
    pub kind: usize,
    /// The number of the object.
    pub key: usize,
}

/// A list that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The object that holds the list.
    pub register: Register,
    /// The numbers of the transactions that have appended to the list.
    pub list: Vec<u64>,
}

/// A transaction as its caller saw it.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// The transaction's number, which it appends to lists.
    pub id: u64,
    /// The moment before it was requested.
    pub called: u64,
    /// The moment when its caller got the outcome.
    pub answered: u64,
    /// Whether it was committed.
    pub committed: bool,
    /// Whether its caller was told that it is not known whether it was committed.
    pub in_doubt: bool,
    /// The lists that it read, each before its own append.
    pub reads: Vec<Reading>,
    /// The lists to which it appended its number, each once.
    pub appends: Vec<Register>,
    /// Whether the order of completions includes it: not for a plain read, and not if the
    /// completion was requested after the end of the transaction.
    pub ordered: bool,
}

impl Event {
    /// Decides by the final lists whether a transaction in doubt was committed: then its appends
    /// are there. Its end is unknown, so it may come after every transaction that it did not
    /// precede.
    pub fn decide(&mut self, last: &[Reading]) {
        let has_appended = |register: &Register| {
            let mut last = last.iter().filter(|reading| reading.register == *register);
            last.any(|reading| reading.list.contains(&self.id))
        };
        if self.in_doubt && self.appends.iter().any(has_appended) {
            self.committed = true;
            self.ordered = false;
            self.answered = u64::MAX;
        }
    }
}

/// A list that a subscriber received.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The moment of the delivery.
    pub moment: u64,
    /// The delivered list.
    pub reading: Reading,
}

/// Everything that happened.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The transactions, and reads outside of transactions.
    pub events: Vec<Event>,
    /// The deliveries to subscribers of the objects, in order.
    pub deliveries: Vec<Delivery>,
    /// Whether one delivery may have the changes of several commits.
    pub is_coalesced: bool,
    /// The final lists.
    pub last: Vec<Reading>,
}
