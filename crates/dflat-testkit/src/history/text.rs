//! Histories as lines of text, from one process to another.

use super::{Delivery, Event, History, Reading, Register};

/// The events and deliveries as lines.
#[must_use]
pub fn to_lines(events: &[Event], deliveries: &[Delivery]) -> Vec<String> {
    let events = events.iter().map(|event| {
        let Event {
            id,
            called,
            answered,
            committed,
            ordered,
            ..
        } = event;
        let mut line = format!("event {id} {called} {answered} {committed} {ordered}");
        for reading in &event.reads {
            line += &format!(" read {}", written(reading));
        }
        for Register { kind, key } in &event.appends {
            line += &format!(" append {kind} {key}");
        }
        line
    });
    let deliveries = deliveries.iter().map(|delivery| {
        let reading = written(&delivery.reading);
        format!("delivery {} read {reading}", delivery.moment)
    });
    events.chain(deliveries).collect()
}

fn written(reading: &Reading) -> String {
    let Register { kind, key } = reading.register;
    let list: Vec<String> = reading.list.iter().map(u64::to_string).collect();
    format!("{kind} {key} {}", list.join(","))
}

/// Adds the event or the delivery of a line to a history.
pub fn add_line(history: &mut History, line: &str) {
    let mut words = line.split(' ');
    if words.next() == Some("event") {
        let mut event = Event {
            id: number(words.next()),
            called: number(words.next()),
            answered: number(words.next()),
            committed: words.next() == Some("true"),
            ordered: words.next() == Some("true"),
            ..Event::default()
        };
        while let Some(word) = words.next() {
            match word {
                "read" => event.reads.push(reading(&mut words)),
                _ => event.appends.push(register(&mut words)),
            }
        }
        history.events.push(event);
    } else {
        let moment = number(words.next());
        assert_eq!(words.next(), Some("read"));
        let reading = reading(&mut words);
        history.deliveries.push(Delivery { moment, reading });
    }
}

fn number(word: Option<&str>) -> u64 {
    word.unwrap().parse().unwrap()
}

fn register<'l>(words: &mut impl Iterator<Item = &'l str>) -> Register {
    let mut number = || usize::try_from(number(words.next())).unwrap();
    Register {
        kind: number(),
        key: number(),
    }
}

fn reading<'l>(words: &mut impl Iterator<Item = &'l str>) -> Reading {
    let register = register(words);
    let list = words.next().unwrap().split(',');
    let list = list.filter(|word| !word.is_empty());
    let list = list.map(|word| number(Some(word))).collect();
    Reading { register, list }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_history_give_the_same_history() {
        let register = Register { kind: 2, key: 1 };
        let list = |list: &[u64]| Reading {
            register,
            list: list.to_vec(),
        };
        let event = Event {
            id: 7,
            called: 8,
            answered: 9,
            committed: true,
            in_doubt: false,
            reads: vec![list(&[]), list(&[3, 4])],
            appends: vec![register, register],
            ordered: false,
        };
        let delivery = Delivery {
            moment: 11,
            reading: list(&[3, 4, 7]),
        };
        let (events, deliveries) = (vec![event, Event::default()], vec![delivery]);
        let mut history = History::default();
        for line in to_lines(&events, &deliveries) {
            add_line(&mut history, &line);
        }
        let expected = History {
            events,
            deliveries,
            ..History::default()
        };
        assert_eq!(format!("{history:?}"), format!("{expected:?}"));
    }
}
