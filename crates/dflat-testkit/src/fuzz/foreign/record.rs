//! Damaged records of changes: each is refused, or its rows are read; and differences of any two
//! payloads.

use dflat_model::record::{
    Before, ByteDifference, Change, ChangeRecord, LostRow, Part, RecordError, RecordHead,
    RecordWriter, TableHead, WrittenRow, payload_hash,
};
use dflat_model::{RowId, ValueRef};

use crate::fuzz::mutate;
use crate::random::Random;

/// How many records a seed damages.
const RECORDS: usize = 40;

/// Runs a seed.
pub fn run_seed(seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..RECORDS {
        let (mut record, after) = record(&mut random);
        assert_eq!(read(&record, &after), Ok(()), "a sound record is refused");
        for _ in 0..1 + random.below(4) {
            mutate::bytes(&mut record, &mut random);
            seal(&mut record);
            let _ = read(&record, &after);
        }
        check_bytes(&record);
    }
}

/// Gives a record the checksum that belongs to its other bytes.
fn seal(record: &mut [u8]) {
    if let Some((bytes, checksum)) = record.split_last_chunk_mut::<4>() {
        *checksum = (payload_hash(bytes) as u32).to_le_bytes();
    }
}

/// Checks any bytes as a record, also with the right checksum, and as a difference. The first byte
/// divides the others into two payloads, whose difference gives the second from the first.
pub fn check_bytes(bytes: &[u8]) {
    let _ = read(bytes, bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    let _ = read(&sealed, bytes);
    let _ = ByteDifference::decode(bytes).map(|difference| difference.apply(bytes));
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let (after, before) = rest.split_at(rest.len() * usize::from(*first) / 256);
    let mut difference = Vec::new();
    if ByteDifference::between(after, before, &mut difference) {
        assert!(difference.len() < before.len());
        let decoded = ByteDifference::decode(&difference).unwrap();
        assert_eq!(decoded.apply(after).as_deref(), Ok(before));
    } else {
        assert!(difference.is_empty());
    }
}

/// Reads all of a record. A difference is applied to `after`.
fn read(bytes: &[u8], after: &[u8]) -> Result<(), RecordError> {
    let record = ChangeRecord::decode(bytes)?;
    for table in &record.tables {
        for row in table.rows() {
            let Change::Updated(Before::Difference(difference)) = row?.change else {
                continue;
            };
            match difference.apply(after) {
                Ok(before) => assert!(before.len() <= after.len() + bytes.len()),
                Err(error) => assert_ne!(error, RecordError::Malformed, "ranges were checked"),
            }
        }
    }
    Ok(())
}

/// A record, and the object after each of its updates.
fn record(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let after: Vec<u8> = (0..random.below(200))
        .map(|_| random.below(256) as u8)
        .collect();
    let head = RecordHead {
        place: random.below(3) as u32,
        engine: random.number(),
        time: random.number() >> random.below(64),
        file: random.one_in(2).then_some(7),
        author: random.one_in(2).then_some("Ada"),
        part: *random.pick(&[
            Part::Whole,
            Part::Early { number: 1 },
            Part::Final { early: 2, rows: 9 },
        ]),
        ..RecordHead::default()
    };
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&head, random.one_in(8), &mut bytes);
    for name in ["task", "list"] {
        writer.table(&TableHead {
            name,
            descriptor: random.number(),
            key_columns: 1,
            is_foreign: random.one_in(4),
        });
        for row_id in 1..=random.below(6) {
            let mut before = after.clone();
            for _ in 0..random.below(3) {
                mutate::bytes(&mut before, random);
            }
            let key = [*random.pick(&[ValueRef::Int(-3), ValueRef::Text("key")])];
            if random.one_in(4) {
                writer.lost_row(&LostRow {
                    row_id: RowId(row_id as i64 * 1000),
                    key: &key,
                    is_deleted: random.one_in(2),
                    hash: random.one_in(2).then_some([7; 32]),
                });
                continue;
            }
            let (has_before, has_after) = (!random.one_in(3), !random.one_in(3));
            writer.row(&WrittenRow {
                row_id: RowId(row_id as i64 * 1000),
                key: &key,
                is_foreign: random.one_in(4),
                before: has_before.then_some(before.as_slice()),
                after: has_after.then_some(after.as_slice()),
            });
        }
    }
    writer.finish();
    (bytes, after)
}
