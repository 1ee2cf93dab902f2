//! Makes the objects that transactions write.

use dflat_model::{RowId, Table};

use super::chunk::{CHUNK_MAX_BYTES, Header, OpenChunk, Piece};
use super::handle::Object;
use super::origin::Origin;

/// The number of objects that an arena allocates one by one before objects share a chunk: most
/// transactions write fewer, and an object that is allocated alone keeps no other object's bytes in
/// memory.
const ALONE_MAX: usize = 16;

/// Makes the objects that are written to a table, one at a time.
///
/// The first objects have an allocation each. Later ones share chunks, whose size grows with the
/// bytes that the arena has made so far.
pub(crate) struct ObjectArena {
    /// The hash of the table's name.
    table: u32,
    /// The chunk that objects are added to.
    open_chunk: Option<OpenChunk>,
    /// The number of objects made so far, and the sum of their bytes.
    made: usize,
    bytes: usize,
    /// At least this many objects are allocated one by one.
    alone: usize,
}

impl ObjectArena {
    /// An arena of a table.
    const fn new(table: &Table) -> Self {
        Self {
            table: table.name_hash(),
            open_chunk: None,
            made: 0,
            bytes: 0,
            alone: 0,
        }
    }

    /// Makes an object of a payload that is known to be valid. If `kept` returns true, the object
    /// may outlive the others, and no new chunk is begun for it.
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
            None => Object::alone(self.table, row_id, origin, payload),
        }
    }

    /// Begins a new chunk with a payload, if the payload is to share one.
    #[cold]
    fn add_elsewhere(
        &mut self,
        row_id: RowId,
        origin: Origin,
        payload: &[u8],
        kept: impl FnOnce() -> bool,
    ) -> Option<Piece> {
        // A chunk is no larger than all payloads made before it, so that little of it stays unused.
        // A large payload, or one whose row id is too far from the chunk's, gets its own allocation
        // and the chunk stays open.
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
        let header = Header {
            origin,
            base: row_id,
            table: self.table,
        };
        // Order: a large transaction keeps none of the objects that it inserts, so their chunk is
        // freed before the next one is allocated.
        self.open_chunk = None;
        let open_chunk = self.open_chunk.insert(OpenChunk::new(header, bytes));
        open_chunk.add(origin, row_id, payload)
    }

    /// Whether any objects share a chunk.
    pub(crate) const fn has_shared(&self) -> bool {
        self.open_chunk.is_some()
    }
}

/// Makes the objects that the transactions of a commit group write, by table, so that objects of
/// many small transactions share chunks as those of one large transaction do.
#[derive(Default)]
pub(crate) struct ObjectArenas(Vec<(Table, ObjectArena)>);

impl ObjectArenas {
    /// The arena of a table.
    #[inline]
    pub(crate) fn of(&mut self, table: &Table) -> &mut ObjectArena {
        let position = self.0.iter().position(|(other, _)| other.is_same(table));
        let position = position.unwrap_or_else(|| {
            self.0.push((table.clone(), ObjectArena::new(table)));
            self.0.len() - 1
        });
        &mut self.0[position].1
    }

    /// Drops all arenas: objects made later share no chunk with those made before.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use std::borrow::Cow;
    use std::thread;

    use dflat_model::TableDescriptor;

    use super::*;

    static NOTE: Table = {
        static DESCRIPTOR: TableDescriptor = TableDescriptor {
            name: Cow::Borrowed("note"),
            type_name: Cow::Borrowed("Note"),
            auto_key: None,
            primary_key: Cow::Borrowed(&[]),
            indexes: Cow::Borrowed(&[]),
            types: Cow::Borrowed(&[]),
        };
        Table::from_static(&DESCRIPTOR)
    };

    const ORIGIN: Origin = Origin {
        engine: 1,
        seq: dflat_model::CommitSeq(0),
        transaction: 2,
    };

    /// Bytes that differ from object to object.
    fn payload(n: usize, len: usize) -> Vec<u8> {
        (0..len).map(|at| (n * 31 + at) as u8).collect()
    }

    /// Makes an object for each row id and length of payload.
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
            assert!(object.is_of(&NOTE));
        }
    }

    #[test]
    fn an_arena_keeps_payloads_and_row_ids_of_any_size_and_order() {
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
        let mut arena = ObjectArena::new(&NOTE);
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
        let mut arena = ObjectArena::new(&NOTE);
        let objects = made(&mut arena, &rows);
        thread::scope(|scope| {
            let reader = scope.spawn(|| (0..5).for_each(|_| check(&objects, &rows)));
            check(&made(&mut arena, &rows), &rows);
            reader.join().unwrap();
        });
    }

    #[test]
    fn rows_that_are_far_apart_or_kept_share_no_chunk() {
        let far: Vec<_> = (0..1000).map(|n| (n % 2 * (1 << 40), 100)).collect();
        let mut arena = ObjectArena::new(&NOTE);
        let objects = made(&mut arena, &far);
        check(&objects, &far);
        // Rows near to the first of a chunk share it; the others have their own allocation.
        let shared = objects.iter().filter(|object| object.is_attached());
        assert!((450..500).contains(&shared.count()));

        let mut asked = 0;
        let mut arena = ObjectArena::new(&NOTE);
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
