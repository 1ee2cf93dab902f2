//! Damage to bytes.

use crate::random::Random;

/// Makes one kind of damage that suits any bytes.
pub(super) fn bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        bytes.extend((0..random.below(8)).map(|n| n as u8));
        return;
    }
    let at = random.below(bytes.len());
    match random.below(8) {
        0 | 1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = *random.pick(&[0, 1, 4, 0x7F, 0x80, 0xFE, 0xFF]),
        3 => number(bytes, at & !3, random),
        4 => bytes.truncate(at),
        5 => {
            let extra = 1 + random.below(16);
            bytes.extend((0..extra).map(|_| *random.pick(&[0, 1, 0xFF])));
        }
        6 => {
            let end = (at + 1 + random.below(32)).min(bytes.len());
            let part = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, part);
        }
        _ => {
            let end = (at + 1 + random.below(32)).min(bytes.len());
            let to = random.below(bytes.len() - (end - at) + 1);
            bytes.copy_within(at..end, to);
        }
    }
}

/// Writes a number at the limit of a type or of the bytes.
fn number(bytes: &mut [u8], at: usize, random: &mut Random) {
    let numbers = [
        0,
        1,
        4,
        bytes.len() as u32,
        u32::from(u16::MAX),
        i32::MAX as u32,
        i32::MIN as u32,
        u32::MAX - 3,
        u32::MAX,
    ];
    write(bytes, at, *random.pick(&numbers));
}

/// The number at a place.
fn read(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}

fn write(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(part) = bytes.get_mut(at..at + 4) {
        part.copy_from_slice(&number.to_le_bytes());
    }
}

/// Damages a payload: an offset leads to the target of another one, or near its own, or a vtable or
/// a length is slightly wrong.
pub(super) fn payload(payload: &mut Vec<u8>, random: &mut Random) {
    let target = |at: usize| {
        let to = at + read(payload, at)? as usize;
        (to > at && to < payload.len()).then_some((at, to))
    };
    let offsets: Vec<(usize, usize)> = (0..payload.len()).step_by(4).filter_map(target).collect();
    if offsets.is_empty() || random.one_in(3) {
        bytes(payload, random);
        return;
    }
    let (at, to) = *random.pick(&offsets);
    let (_, other) = *random.pick(&offsets);
    match random.below(4) {
        // Forwards or, because the number wraps, backwards, which makes a cycle.
        0 => write(payload, at, (other as u32).wrapping_sub(at as u32)),
        1 => {
            let near = to + random.below(9);
            write(payload, at, near.saturating_sub(4 + at) as u32);
        }
        2 => {
            let length = read(payload, to).unwrap_or_default();
            let change = random.below(5) as u32;
            write(payload, to, length.wrapping_add(change).wrapping_sub(2));
        }
        _ => {
            let low = random.below(payload.len()) & !1;
            if let Some(place) = payload.get_mut(low) {
                *place = random.below(32) as u8;
            }
        }
    }
}

/// Damages a file with pages of this size.
pub(super) fn file(file: &mut Vec<u8>, page: usize, random: &mut Random) {
    let pages = file.len() / page;
    if pages == 0 {
        bytes(file, random);
        return;
    }
    let (from, to) = (random.below(pages) * page, random.below(pages) * page);
    match random.below(10) {
        0 => file.truncate(to + random.below(2) * random.below(page)),
        1 => file.copy_within(from..from + page, to),
        2 => file[to..to + page].fill(*random.pick(&[0, 0xFF])),
        3 => {
            let copy = file[from..from + page].to_vec();
            file.extend(copy);
        }
        // The headers of the file and of a page, where a bit has the largest effect.
        4 => file[random.below(100)] ^= 1 << random.below(8),
        5 | 6 => {
            let start = if to == 0 { 100 } else { to };
            file[start + random.below(12)] = random.below(256) as u8;
        }
        // The offsets of a page's cells.
        7 => file[to + 8 + random.below(64)] = random.below(256) as u8,
        _ => {
            for _ in 0..1 + random.below(8) {
                file[to + random.below(page)] ^= 1 << random.below(8);
            }
        }
    }
}
