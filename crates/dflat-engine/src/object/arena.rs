//! Makes the objects that are written.

use dflat_model::{RowId, Table};

use super::chunk::{CHUNK_MAX_BYTES, Header, OpenChunk, Piece};
use super::{Object, Origin};

/// How many objects of an arena are on their own before any share a chunk.
const ALONE_MAX: usize = 16;

/// Makes the objects that are written to a table, one at a time: the first on their own, and of
/// many as many as fit in chunks that grow with what was made.
#[derive(Default)]
pub(crate) struct ObjectArena {
    /// The latest chunk.
    open_chunk: Option<OpenChunk>,
    /// How many objects were made, and their bytes.
    made: usize,
    bytes: usize,
    /// So many are on their own at least.
    alone: usize,
}

impl ObjectArena {
    /// An object of a payload that is known to be right. Objects do not share a chunk if one of
    /// them may be `kept` for long after the others.
    #[inline]
    pub(crate) fn object(
        &mut self,
        row_id: RowId,
        origin: Origin,
        payload: &[u8],
        kept: impl FnOnce() -> bool,
    ) -> Object {
        self.made += 1;
        self.bytes += payload.len();
        let open_chunk = self.open_chunk.as_mut();
        let piece = open_chunk.and_then(|open_chunk| open_chunk.add(origin, row_id, payload));
        match piece.or_else(|| self.add_elsewhere(row_id, origin, payload, kept)) {
            Some(piece) => Object(piece),
            None => Object::from_verified(row_id, origin, payload),
        }
    }

    /// Adds a payload to a new chunk, if there is to be one.
    #[cold]
    fn add_elsewhere(
        &mut self,
        row_id: RowId,
        origin: Origin,
        payload: &[u8],
        kept: impl FnOnce() -> bool,
    ) -> Option<Piece> {
        // A chunk is no larger than all that was made before, so that little is ever unused. A
        // large payload, and a row id that is too far from the chunk's, leave it to others.
        let bytes = self.bytes.min(CHUNK_MAX_BYTES);
        let is_full = self
            .open_chunk
            .as_ref()
            .is_none_or(|open_chunk| open_chunk.left() < bytes / 4);
        if self.made <= self.alone.max(ALONE_MAX) || payload.len() > bytes / 4 || !is_full {
            return None;
        }
        if kept() {
            self.alone = self.made + ALONE_MAX;
            return None;
        }
        let base = row_id;
        let open_chunk = self
            .open_chunk
            .insert(OpenChunk::new(Header { origin, base }, bytes));
        open_chunk.add(origin, row_id, payload)
    }

    /// Whether objects share chunks.
    pub(crate) const fn has_shared(&self) -> bool {
        self.open_chunk.is_some()
    }
}

/// Makes the objects that a group of transactions writes, by table: those of many small
/// transactions share memory as those of a large one do.
#[derive(Default)]
pub(crate) struct ObjectArenas(Vec<(Table, ObjectArena)>);

impl ObjectArenas {
    /// The arena of a table.
    #[inline]
    pub(crate) fn of(&mut self, table: &Table) -> &mut ObjectArena {
        let position = self.0.iter().position(|(other, _)| other.is_same(table));
        let position = position.unwrap_or_else(|| {
            self.0.push((table.clone(), ObjectArena::default()));
            self.0.len() - 1
        });
        &mut self.0[position].1
    }

    /// Forgets all: what is made from here on shares nothing with what was made.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use std::thread;

    use super::*;

    const ORIGIN: Origin = Origin {
        engine: 1,
        seq: dflat_model::CommitSeq(0),
        transaction: 2,
    };

    /// Bytes that tell which object they are of.
    fn payload(n: usize, len: usize) -> Vec<u8> {
        (0..len).map(|at| (n * 31 + at) as u8).collect()
    }

    /// Row ids, and lengths of payloads.
    fn made(arena: &mut ObjectArena, rows: &[(i64, usize)]) -> Vec<Object> {
        let rows = rows.iter().enumerate();
        rows.map(|(n, (row_id, len))| {
            arena.object(RowId(*row_id), ORIGIN, &payload(n, *len), || false)
        })
        .collect()
    }

    fn check(objects: &[Object], rows: &[(i64, usize)]) {
        for (n, (object, (row_id, len))) in objects.iter().zip(rows).enumerate() {
            assert_eq!(object.row_id(), RowId(*row_id));
            assert_eq!(object.payload(), payload(n, *len));
            assert_eq!(object.origin(), ORIGIN);
        }
    }

    #[test]
    fn an_arena_keeps_payloads_and_row_ids_whatever_their_size_and_order() {
        let near = (0..2000).map(|n| (n * 7 % 1000, 1 + n as usize % 300));
        let ids = [
            0,
            32_767,
            32_768,
            -32_768,
            -32_769,
            1 << 31,
            i64::MAX,
            i64::MIN,
            -(1 << 31),
        ];
        let far = ids.into_iter().cycle().take(500).enumerate();
        let far = far.map(|(n, id)| (id, n % 90));
        let large = (0..200).map(|n| (n, if n % 9 == 0 { 70_000 } else { 5_000 }));
        let rows: Vec<_> = near.chain(far).chain(large).collect();
        let mut arena = ObjectArena::default();
        let objects = made(&mut arena, &rows);
        check(&objects, &rows);
        drop(arena);
        check(&objects, &rows);
        assert!(
            objects[..ALONE_MAX]
                .iter()
                .all(|object| !object.is_attached())
        );
        assert!(objects[ALONE_MAX..2000].iter().all(Object::is_attached));
    }

    #[test]
    fn objects_of_an_arena_are_read_while_others_are_made() {
        let rows: Vec<_> = (0..3000).map(|n| (n, 40 + n as usize % 60)).collect();
        let mut arena = ObjectArena::default();
        let objects = made(&mut arena, &rows);
        thread::scope(|scope| {
            let reader = scope.spawn(|| (0..5).for_each(|_| check(&objects, &rows)));
            check(&made(&mut arena, &rows), &rows);
            reader.join().unwrap();
        });
    }

    #[test]
    fn an_arena_takes_no_chunk_for_rows_that_are_far_apart_or_are_kept() {
        let far: Vec<_> = (0..1000).map(|n| (n % 2 * (1 << 40), 100)).collect();
        let mut arena = ObjectArena::default();
        let objects = made(&mut arena, &far);
        check(&objects, &far);
        // Those near to the one that began a chunk share it, and the others are alone.
        let shared = objects.iter().filter(|object| object.is_attached());
        assert!((450..500).contains(&shared.count()));

        let mut asked = 0;
        let mut arena = ObjectArena::default();
        for n in 0..1000 {
            let kept = || {
                asked += 1;
                true
            };
            let object = arena.object(RowId(n), ORIGIN, &payload(0, 100), kept);
            assert!(!object.is_attached());
        }
        assert!(!arena.has_shared());
        assert!((50..80).contains(&asked), "asked {asked} times");
    }
}
