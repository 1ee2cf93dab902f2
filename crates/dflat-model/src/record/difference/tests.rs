//! Tests of differences.

use super::*;

/// Numbers of a linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn bytes(&mut self, max: usize) -> Vec<u8> {
        let length = self.below(max + 1);
        (0..length).map(|_| self.below(4) as u8).collect()
    }

    /// The bytes with a few changed, inserted and removed.
    fn changed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        for _ in 0..self.below(4) {
            let at = self.below(changed.len() + 1);
            let end = (at + self.below(9)).min(changed.len());
            let new = self.bytes(8);
            match self.below(3) {
                0 => drop(changed.splice(at..at, new)),
                1 => drop(changed.splice(at..end, new)),
                _ => changed[at..end].fill(9),
            }
        }
        changed
    }
}

fn difference(after: &[u8], before: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0xEE];
    let is_smaller = ByteDifference::between(after, before, &mut bytes);
    assert_eq!(bytes.remove(0), 0xEE, "what was in the buffer stays");
    assert_eq!(is_smaller, !bytes.is_empty());
    is_smaller.then_some(bytes)
}

fn applied(bytes: &[u8], after: &[u8]) -> Result<Vec<u8>, RecordError> {
    ByteDifference::decode(bytes)?.apply(after)
}

#[test]
fn difference_of_random_payloads_gives_the_payload_before() {
    let mut random = Random(29);
    let (mut used, mut unused) = (0, 0);
    for round in 0..4_000 {
        let before = random.bytes(300);
        let after = if round % 8 == 0 {
            random.bytes(300)
        } else {
            random.changed(&before)
        };
        let Some(bytes) = difference(&after, &before) else {
            unused += 1;
            continue;
        };
        used += 1;
        assert!(bytes.len() < before.len());
        assert_eq!(applied(&bytes, &after), Ok(before));
    }
    assert!(used > 1_000 && unused > 100, "{used} {unused}");
}

#[test]
fn difference_is_not_applied_to_other_bytes() {
    let before: Vec<u8> = (0..200).collect();
    let mut after = before.clone();
    after[20] = 99;
    let bytes = difference(&after, &before).unwrap();
    for position in 0..after.len() {
        let mut other = after.clone();
        other[position] ^= 1;
        assert_eq!(applied(&bytes, &other), Err(RecordError::Mismatch));
    }
    assert_eq!(applied(&bytes, &after[1..]), Err(RecordError::Mismatch));
    // A difference whose inserted byte is not the one before.
    let mut wrong = bytes.clone();
    let at = wrong.iter().rposition(|byte| *byte == 20).unwrap();
    wrong[at] = 21;
    assert_eq!(applied(&wrong, &after), Err(RecordError::Mismatch));
}

#[test]
fn difference_of_a_few_changes_is_small() {
    let before: Vec<u8> = (0..500_u32).map(|n| ((n * n) >> 3) as u8).collect();
    let size = |after: &[u8]| difference(after, &before).unwrap().len();
    let mut scalar = before.clone();
    scalar[100..104].copy_from_slice(&[250, 251, 252, 253]);
    assert!(size(&scalar) <= 32, "{}", size(&scalar));
    // A text in the middle grew by 7 bytes, and offsets before and after it changed.
    let mut text = before.clone();
    text.splice(300..310, [7; 17]);
    (text[40], text[450]) = (!text[40], !text[450]);
    assert!(size(&text) <= 70, "{}", size(&text));
}

#[test]
fn hostile_difference_takes_no_memory_beyond_its_bytes() {
    let side = |length: u64| {
        let mut bytes = Vec::new();
        length.encode(&mut bytes);
        bytes.extend([0; 8]);
        bytes
    };
    let decoded = |after: u64, before: u64, ranges: &[u64]| {
        let mut bytes = [side(after), side(before)].concat();
        ranges.iter().for_each(|number| number.encode(&mut bytes));
        ByteDifference::decode(&bytes).map(drop)
    };
    assert_eq!(decoded(10, 10, &[0, 10, 0]), Ok(()));
    assert_eq!(
        decoded(10, 20, &[0, 10, 0, 0, 10, 0]),
        Err(RecordError::Malformed)
    );
    assert_eq!(
        decoded(10, 1 << 40, &[0, 10, 0]),
        Err(RecordError::Malformed)
    );
    assert_eq!(decoded(10, 0, &[11, 0, 0]), Err(RecordError::Malformed));
    assert_eq!(decoded(10, 3, &[0, 0, 3]), Err(RecordError::Malformed));
    let wrapping = [0, u64::MAX, 0, 0, 11, 0];
    assert_eq!(
        decoded(u64::MAX, 10, &wrapping),
        Err(RecordError::Malformed)
    );
    // The object after is not as long as the difference says.
    let bytes = [side(1 << 60), side(0)].concat();
    assert_eq!(applied(&bytes, &[1, 2]), Err(RecordError::Mismatch));
}
