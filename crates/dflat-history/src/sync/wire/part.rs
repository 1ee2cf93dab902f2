//! The changes of a commit as they are sent: those from its first parent.

use dflat_engine::Result;

use super::message::malformed;

/// A change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent<'a> {
    /// There is no such object any more.
    Deleted,
    /// The object.
    Whole(&'a [u8]),
    /// The difference to the object of the first parent.
    Difference(&'a [u8]),
    /// The object is that of the parent with this number, counted from 0.
    OfParent(usize),
}

/// A change of an object, or the table of the changes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// The number of the table in the commit.
    Table(usize),
    /// A change of the object with this key.
    Change(&'a [u8], Sent<'a>),
}

const TABLE: u8 = 0;
const DELETED: u8 = 1;
const WHOLE: u8 = 2;
const DIFFERENCE: u8 = 3;
const OF_PARENT: u8 = 4;

impl Item<'_> {
    /// Appends the item.
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        let (key, sent) = match self {
            Self::Table(number) => {
                out.push(TABLE);
                return put_number(number, out);
            }
            Self::Change(key, sent) => (key, sent),
        };
        out.push(match sent {
            Sent::Deleted => DELETED,
            Sent::Whole(_) => WHOLE,
            Sent::Difference(_) => DIFFERENCE,
            Sent::OfParent(_) => OF_PARENT,
        });
        put_bytes(key, out);
        match sent {
            Sent::Deleted => {}
            Sent::Whole(bytes) | Sent::Difference(bytes) => put_bytes(bytes, out),
            Sent::OfParent(number) => put_number(number, out),
        }
    }
}

/// The items of a part. After an error it ends.
#[derive(Debug)]
pub(crate) struct Items<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_none() {
            self.0 = &[];
        }
        Some(read.ok_or_else(|| malformed("a change has wrong bytes")))
    }
}

impl<'a> Items<'a> {
    fn read(&mut self) -> Option<Item<'a>> {
        let kind = self.byte()?;
        if kind == TABLE {
            return self.number().map(Item::Table);
        }
        let key = self.bytes()?;
        let sent = match kind {
            DELETED => Sent::Deleted,
            WHOLE => Sent::Whole(self.bytes()?),
            DIFFERENCE => Sent::Difference(self.bytes()?),
            OF_PARENT => Sent::OfParent(self.number()?),
            _ => return None,
        };
        Some(Item::Change(key, sent))
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

/// Appends a number: seven bits in each byte, the lowest first.
fn put_number(number: usize, out: &mut Vec<u8>) {
    let mut rest = number;
    loop {
        let low = u8::try_from(rest & 0x7f).unwrap_or_default();
        rest >>= 7;
        if rest == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len(), out);
    out.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> [Item<'static>; 6] {
        [
            Item::Table(1),
            Item::Change(b"a", Sent::Deleted),
            Item::Change(b"b", Sent::Whole(b"object")),
            Item::Change(b"c", Sent::Difference(b"difference")),
            Item::Change(b"d", Sent::OfParent(300)),
            Item::Table(usize::MAX),
        ]
    }

    fn bytes(items: &[Item<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        items.iter().for_each(|item| item.encode(&mut bytes));
        bytes
    }

    #[test]
    fn changes_are_read_as_they_were_written() {
        let bytes = bytes(&samples());
        let read: Vec<_> = Items(&bytes).map(Result::unwrap).collect();
        assert_eq!(read, samples());
    }

    #[test]
    fn changes_that_are_cut_are_refused() {
        for item in samples() {
            let bytes = bytes(&[item]);
            for length in 1..bytes.len() {
                let read: Result<Vec<_>> = Items(&bytes[..length]).collect();
                assert!(read.is_err(), "{item:?} {length}");
            }
        }
        assert!(Items(&[9, 0]).next().unwrap().is_err());
        assert!(
            Items(&[TABLE, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255])
                .next()
                .unwrap()
                .is_err()
        );
    }

    /// Ten bytes have 70 bits, and a number has at most 64. The bits beyond were dropped once.
    #[test]
    fn number_of_more_than_64_bits_is_refused() {
        let largest = [TABLE, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        let read = Items(&largest).next().unwrap();
        assert_eq!(read.is_ok(), usize::BITS == 64);
        let mut too_large = largest;
        too_large[10] = 3;
        assert!(Items(&too_large).next().unwrap().is_err());
    }
}
