//! The hash by which a record names the bytes of a payload.

/// Odd numbers with as many ones as zeros, which no text or small number equals.
const FACTORS: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

/// The 64-bit hash of a payload, which finds a payload that a record does not belong to.
///
/// It takes about a nanosecond for 8 bytes. A program can choose payloads with equal hashes.
///
/// The payload is read as pairs of 64-bit little-endian numbers, the last pair filled up with
/// zeros. The hash begins as the second factor. For each pair `a`, `b` it becomes
/// `mix(a ^ first factor, b ^ hash)`, and at last `mix(hash ^ first factor, length ^ second
/// factor)`, where `mix` multiplies two numbers and joins the two halves of the 128-bit product by
/// exclusive or. The factors are `a0761d6478bd642f` and `e7037ed1a0b428db`, in hexadecimal.
#[must_use]
pub fn payload_hash(payload: &[u8]) -> u64 {
    end(pairs(payload).iter().fold(FACTORS[1], add), payload)
}

/// The hashes of two payloads. One multiplication waits for the one before, so two hashes together
/// take little longer than one.
pub(super) fn payload_hashes(first: &[u8], second: &[u8]) -> [u64; 2] {
    let shorter = pairs(first).len().min(pairs(second).len());
    let (firsts, first_rest) = pairs(first).split_at(shorter);
    let (seconds, second_rest) = pairs(second).split_at(shorter);
    let mut hashes = [FACTORS[1]; 2];
    for (first, second) in firsts.iter().zip(seconds) {
        hashes = [add(hashes[0], first), add(hashes[1], second)];
    }
    [
        end(first_rest.iter().fold(hashes[0], add), first),
        end(second_rest.iter().fold(hashes[1], add), second),
    ]
}

fn pairs(payload: &[u8]) -> &[[u8; 16]] {
    payload.as_chunks().0
}

/// The bytes after the last whole pair as a pair, filled up with zeros.
#[inline]
pub(super) fn pair_of_rest(payload: &[u8]) -> u128 {
    let rest = payload.len() % 16;
    match payload.last_chunk::<16>() {
        _ if rest == 0 => 0,
        // Faster than to copy the bytes of the rest.
        Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - rest)),
        None => {
            let bytes = payload.iter().rev();
            bytes.fold(0, |last, byte| last << 8 | u128::from(*byte))
        }
    }
}

/// The hash of a payload, from the one after its whole pairs.
#[inline]
fn end(hash: u64, payload: &[u8]) -> u64 {
    let hash = match payload.len() % 16 {
        0 => hash,
        _ => add_number(hash, pair_of_rest(payload)),
    };
    mix(hash ^ FACTORS[0], payload.len() as u64 ^ FACTORS[1])
}

#[inline]
fn add(hash: u64, pair: &[u8; 16]) -> u64 {
    add_number(hash, u128::from_le_bytes(*pair))
}

#[inline]
fn add_number(hash: u64, pair: u128) -> u64 {
    mix(pair as u64 ^ FACTORS[0], (pair >> 64) as u64 ^ hash)
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{FACTORS, add, mix, payload_hash, payload_hashes};

    /// The last pair is filled up with zeros, at any length.
    #[test]
    fn hash_is_that_of_the_documentation() {
        let bytes: Vec<u8> = (0..100).map(|byte: u8| byte.wrapping_mul(37) | 1).collect();
        for len in 0..=bytes.len() {
            let mut hash = FACTORS[1];
            for pair in bytes[..len].chunks(16) {
                let mut filled = [0; 16];
                filled[..pair.len()].copy_from_slice(pair);
                hash = add(hash, &filled);
            }
            let hash = mix(hash ^ FACTORS[0], len as u64 ^ FACTORS[1]);
            assert_eq!(payload_hash(&bytes[..len]), hash, "{len} bytes");
            for other in [0, len / 2, bytes.len()] {
                let hashes = [hash, payload_hash(&bytes[..other])];
                let (payload, other) = (&bytes[..len], &bytes[..other]);
                assert_eq!(payload_hashes(payload, other), hashes, "{len} bytes");
            }
        }
    }

    #[test]
    fn each_changed_bit_and_each_length_changes_the_hash() {
        let payload: Vec<u8> = (0..100).map(|byte: u8| byte.wrapping_mul(37)).collect();
        let mut seen = HashSet::new();
        for len in 0..=payload.len() {
            assert!(seen.insert(payload_hash(&payload[..len])), "{len} bytes");
            assert!(
                seen.insert(payload_hash(&vec![0; len + 200])),
                "{len} zeros"
            );
        }
        for position in 0..payload.len() {
            for bit in 0..8 {
                let mut changed = payload.clone();
                changed[position] ^= 1 << bit;
                assert!(seen.insert(payload_hash(&changed)), "{position} {bit}");
            }
        }
    }
}
