//! Decides whether a history is strictly serializable and was delivered in order.

use std::collections::{HashMap, HashSet};

use super::{Event, History, Register};

/// Checks a history. The final lists have each committed transaction exactly once and no other.
/// Some order of the transactions explains every read, and agrees with the order of calls that did
/// not overlap. Deliveries follow such an order too, and so do the completions of each program. If
/// several programs write, completions of transactions that change nothing are not compared.
///
/// # Errors
/// An error if two readings contradict each other, or if no order of the transactions explains
/// them.
pub fn check(history: &History) -> Result<(), String> {
    let lists = Lists::of(history)?;
    lists.check_reads(history)?;
    let mut order = dependencies(history, &lists);
    add_real_time(history, &mut order);
    acyclic(&order, "no order explains the reads")?;
    add_completions(history, &mut order);
    acyclic(&order, "completions are out of order")?;
    check_deliveries(history, &lists)
}

/// The final lists, of which every list that was read must be a prefix.
struct Lists<'h> {
    last: HashMap<Register, &'h [u64]>,
}

impl<'h> Lists<'h> {
    fn of(history: &'h History) -> Result<Self, String> {
        let readings = history.last.iter();
        let last: HashMap<Register, &[u64]> = readings
            .map(|reading| (reading.register, reading.list.as_slice()))
            .collect();
        let mut expected: HashMap<Register, HashSet<u64>> = HashMap::new();
        for event in history.events.iter().filter(|event| event.committed) {
            for register in &event.appends {
                expected.entry(*register).or_default().insert(event.id);
            }
        }
        for (register, list) in &last {
            let there: HashSet<u64> = list.iter().copied().collect();
            if there.len() != list.len() {
                return Err(format!("{register:?} holds a number twice: {list:?}"));
            }
            let expected = expected.remove(register).unwrap_or_default();
            if there != expected {
                let lost: Vec<_> = expected.difference(&there).collect();
                let never: Vec<_> = there.difference(&expected).collect();
                return Err(format!(
                    "{register:?} lost {lost:?} and has {never:?}, which were not committed"
                ));
            }
        }
        match expected.keys().next() {
            Some(register) => Err(format!("{register:?} was lost")),
            None => Ok(Self { last }),
        }
    }

    fn of_register(&self, register: Register) -> &'h [u64] {
        self.last.get(&register).copied().unwrap_or_default()
    }

    /// Checks that every list that a committed transaction read is a prefix of the final list.
    fn check_reads(&self, history: &History) -> Result<(), String> {
        for event in history.events.iter().filter(|event| event.committed) {
            for reading in &event.reads {
                let last = self.of_register(reading.register);
                if !last.starts_with(&reading.list) {
                    return Err(format!(
                        "{} read {reading:?}, which is no beginning of {last:?}",
                        event.id
                    ));
                }
            }
        }
        Ok(())
    }
}

/// For each transaction, the transactions that come after it.
type Order = HashMap<u64, HashSet<u64>>;

fn add(order: &mut Order, before: u64, after: u64) {
    if before != after {
        order.entry(before).or_default().insert(after);
    }
}

fn committed(history: &History) -> impl Iterator<Item = &Event> {
    history.events.iter().filter(|event| event.committed)
}

/// The order that the lists show. Appends to a list follow each other. A transaction that read a
/// list comes after the appends in it, and before the appends that are not in it.
fn dependencies(history: &History, lists: &Lists<'_>) -> Order {
    let mut order = Order::new();
    for list in lists.last.values() {
        for pair in list.windows(2) {
            add(&mut order, pair[0], pair[1]);
        }
    }
    for event in committed(history) {
        for reading in &event.reads {
            let last = lists.of_register(reading.register);
            if let Some(writer) = reading.list.last() {
                add(&mut order, *writer, event.id);
            }
            if let Some(next) = last.get(reading.list.len()) {
                add(&mut order, event.id, *next);
            }
        }
    }
    order
}

/// A transaction whose outcome was known before the call of another comes before the other.
fn add_real_time(history: &History, order: &mut Order) {
    for before in committed(history) {
        for after in committed(history) {
            if before.answered < after.called {
                add(order, before.id, after.id);
            }
        }
    }
}

/// A transaction whose completion was called before that of another comes before the other.
fn add_completions(history: &History, order: &mut Order) {
    let mut answered: Vec<&Event> = committed(history).filter(|event| event.ordered).collect();
    answered.sort_by_key(|event| event.answered);
    for pair in answered.windows(2) {
        add(order, pair[0].id, pair[1].id);
    }
}

fn acyclic(order: &Order, what: &str) -> Result<(), String> {
    let mut entering: HashMap<u64, usize> = HashMap::new();
    for (before, afters) in order {
        entering.entry(*before).or_default();
        for after in afters {
            *entering.entry(*after).or_default() += 1;
        }
    }
    let free = entering.iter().filter(|(_, count)| **count == 0);
    let mut free: Vec<u64> = free.map(|(id, _)| *id).collect();
    let mut left = entering.len();
    while let Some(id) = free.pop() {
        left -= 1;
        for after in order.get(&id).into_iter().flatten() {
            let count = entering.entry(*after).or_default();
            *count -= 1;
            if *count == 0 {
                free.push(*after);
            }
        }
    }
    if left == 0 {
        return Ok(());
    }
    let caught = entering.iter().filter(|(_, count)| **count > 0);
    let caught: HashSet<u64> = caught.map(|(id, _)| *id).collect();
    Err(format!("{what}: a cycle {:?}", cycle(order, &caught)))
}

/// A cycle among transactions that all have one of the others before them, in its order.
fn cycle(order: &Order, caught: &HashSet<u64>) -> Vec<u64> {
    let mut before: HashMap<u64, u64> = HashMap::new();
    for id in caught {
        for after in order.get(id).into_iter().flatten() {
            before.insert(*after, *id);
        }
    }
    let mut path: Vec<u64> = caught.iter().take(1).copied().collect();
    while let Some(id) = path.last().and_then(|id| before.get(id)) {
        let seen = path.iter().position(|seen| seen == id);
        path.push(*id);
        if let Some(seen) = seen {
            path.drain(..seen);
            break;
        }
    }
    path.reverse();
    path
}

/// Checks that each commit is delivered once for each object that it changed, before its completion
/// and in order: a list grows by one number in each delivery, or by several if deliveries may have
/// several commits, and deliveries of two commits never overlap.
fn check_deliveries(history: &History, lists: &Lists<'_>) -> Result<(), String> {
    let ordered = committed(history).filter(|event| event.ordered);
    let answered: HashMap<u64, u64> = ordered.map(|event| (event.id, event.answered)).collect();
    let mut lengths: HashMap<Register, usize> = HashMap::new();
    let mut latest = 0;
    for delivery in &history.deliveries {
        let reading = &delivery.reading;
        let length = lengths.entry(reading.register).or_default();
        *length = match history.is_coalesced {
            true => reading.list.len().max(*length + 1),
            false => *length + 1,
        };
        let expected = lists.of_register(reading.register).get(..*length);
        if expected != Some(reading.list.as_slice()) {
            return Err(format!("{reading:?} was delivered instead of {expected:?}"));
        }
        if history.is_coalesced {
            continue;
        }
        let Some(completed) = reading.list.last().and_then(|id| answered.get(id)) else {
            continue;
        };
        if *completed < delivery.moment || *completed < latest {
            return Err(format!(
                "{reading:?} was delivered after a later completion"
            ));
        }
        latest = *completed;
    }
    for (register, list) in &lists.last {
        let count = lengths.get(register).copied().unwrap_or_default();
        if count != list.len() {
            return Err(format!("{register:?} got {count} deliveries of {list:?}"));
        }
    }
    Ok(())
}
