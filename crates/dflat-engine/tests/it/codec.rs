//! The codec and the official `flatbuffers` crate read each other's payloads.

use dflat_engine::object::{TableView, Writer, verify};
use flatbuffers::{FlatBufferBuilder, Follow, ForwardsUOffset, Vector, WIPOffset};

use crate::table;

const SCHEMA: &str = "
    table Inner { id: long; name: string; }
    table Root {
        key: string (primary);
        flag: bool;
        small: byte;
        wide: ulong;
        ratio: double;
        inner: Inner;
        names: [string];
        numbers: [int];
        many: [Inner];
        half: float;
    }
    root_type Root;";

/// A payload of [`SCHEMA`] made by our writer.
fn ours() -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    writer.scalar(10, u64::MAX);
    writer.scalar(12, -0.5_f64);
    let key = writer.slot(4);
    let inner = writer.slot(14);
    let names = writer.slot(16);
    let numbers = writer.slot(18);
    let many = writer.slot(20);
    writer.scalar(22, f32::NAN);
    writer.scalar(6, true);
    writer.scalar(8, -8_i8);
    writer.end_table();
    writer.text(key, "naïve 🐉\0!");
    write_inner(&mut writer, inner, 1);
    let first = writer.slots(names, 2);
    writer.text(first, "");
    writer.text(first.nth(1), "two");
    writer.scalars(numbers, [1_i32, -2, 3].into_iter());
    let first = writer.slots(many, 3);
    for index in 0..3 {
        write_inner(&mut writer, first.nth(index), index as i64 + 10);
    }
    writer.leave();
    writer.finish().unwrap().to_vec()
}

fn write_inner(writer: &mut Writer, slot: dflat_engine::object::Slot, id: i64) {
    assert!(writer.begin_table(slot));
    writer.scalar(4, id);
    let name = writer.slot(6);
    writer.end_table();
    writer.text(name, &format!("inner {id}"));
    writer.leave();
}

/// The same payload made by the official builder.
fn official() -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let key = builder.create_string("naïve 🐉\0!");
    let inner = official_inner(&mut builder, 1);
    let texts = [builder.create_string(""), builder.create_string("two")];
    let names = builder.create_vector(&texts);
    let numbers = builder.create_vector(&[1_i32, -2, 3]);
    let inners: Vec<_> = (10..13)
        .map(|id| official_inner(&mut builder, id))
        .collect();
    let many = builder.create_vector(&inners);
    let start = builder.start_table();
    builder.push_slot_always(4, key);
    builder.push_slot_always(6, true);
    builder.push_slot_always(8, -8_i8);
    builder.push_slot_always(10, u64::MAX);
    builder.push_slot_always(12, -0.5_f64);
    builder.push_slot_always(14, inner);
    builder.push_slot_always(16, names);
    builder.push_slot_always(18, numbers);
    builder.push_slot_always(20, many);
    builder.push_slot_always(22, f32::NAN);
    let root = builder.end_table(start);
    builder.finish_minimal(root);
    builder.finished_data().to_vec()
}

fn official_inner<'b>(
    builder: &mut FlatBufferBuilder<'b>,
    id: i64,
) -> WIPOffset<flatbuffers::Table<'b>> {
    let name = builder.create_string(&format!("inner {id}"));
    let start = builder.start_table();
    builder.push_slot_always(4, id);
    builder.push_slot_always(6, name);
    WIPOffset::new(builder.end_table(start).value())
}

#[test]
fn payloads_of_the_official_builder_are_read() {
    for payload in [official(), ours()] {
        verify(&table(SCHEMA).types, &payload).unwrap();
        let root = TableView::root(&payload).unwrap();
        assert_eq!(root.text(4).unwrap(), Some("naïve 🐉\0!"));
        assert_eq!(root.scalar::<bool>(6).unwrap(), Some(true));
        assert_eq!(root.scalar::<i8>(8).unwrap(), Some(-8));
        assert_eq!(root.scalar::<u64>(10).unwrap(), Some(u64::MAX));
        assert_eq!(root.scalar::<f64>(12).unwrap(), Some(-0.5));
        assert!(root.scalar::<f32>(22).unwrap().unwrap().is_nan());
        assert_eq!(root.scalar::<i32>(24).unwrap(), None);
        let inner = root.table(14).unwrap().unwrap();
        assert_eq!(inner.scalar::<i64>(4).unwrap(), Some(1));
        let names = root.vector(16, 4).unwrap().unwrap();
        assert_eq!(
            (names.len(), names.text(0), names.text(1)),
            (2, Ok(""), Ok("two"))
        );
        assert!(names.text(2).is_err());
        let numbers = root.vector(18, 4).unwrap().unwrap();
        assert_eq!(numbers.scalar::<i32>(1), Ok(-2));
        let many = root.vector(20, 4).unwrap().unwrap();
        assert_eq!(many.table(2).unwrap().text(6).unwrap(), Some("inner 12"));
    }
}

#[test]
fn official_reader_reads_payloads_of_this_library() {
    let payload = ours();
    // SAFETY: our verifier accepted the bytes; the official crate has no safe untyped reader.
    #[allow(unsafe_code, reason = "the oracle's untyped reader is unsafe to call")]
    let root = unsafe { <ForwardsUOffset<flatbuffers::Table<'_>>>::follow(&payload, 0) };
    #[allow(unsafe_code, reason = "the oracle's untyped reader is unsafe to call")]
    // SAFETY: as above.
    unsafe {
        assert_eq!(
            root.get::<ForwardsUOffset<&str>>(4, None),
            Some("naïve 🐉\0!")
        );
        assert_eq!(root.get::<bool>(6, None), Some(true));
        assert_eq!(root.get::<i8>(8, None), Some(-8));
        assert_eq!(root.get::<u64>(10, None), Some(u64::MAX));
        assert_eq!(root.get::<f64>(12, None), Some(-0.5));
        assert!(root.get::<f32>(22, None).unwrap().is_nan());
        let inner = root
            .get::<ForwardsUOffset<flatbuffers::Table<'_>>>(14, None)
            .unwrap();
        assert_eq!(inner.get::<ForwardsUOffset<&str>>(6, None), Some("inner 1"));
        type Texts<'a> = ForwardsUOffset<Vector<'a, ForwardsUOffset<&'a str>>>;
        let names: Vec<_> = root.get::<Texts<'_>>(16, None).unwrap().iter().collect();
        assert_eq!(names, ["", "two"]);
        type Numbers<'a> = ForwardsUOffset<Vector<'a, i32>>;
        let numbers: Vec<_> = root.get::<Numbers<'_>>(18, None).unwrap().iter().collect();
        assert_eq!(numbers, [1, -2, 3]);
        type Tables<'a> = ForwardsUOffset<Vector<'a, ForwardsUOffset<flatbuffers::Table<'a>>>>;
        let many = root.get::<Tables<'_>>(20, None).unwrap();
        assert_eq!(many.get(2).get::<i64>(4, None), Some(12));
    }
}

#[test]
fn payloads_are_aligned_as_the_official_verifier_demands() {
    use flatbuffers::{Verifiable, Verifier, VerifierOptions};

    struct Inner;
    impl Verifiable for Inner {
        fn run_verifier(
            v: &mut Verifier<'_, '_>,
            pos: usize,
        ) -> Result<(), flatbuffers::InvalidFlatbuffer> {
            v.visit_table(pos)?
                .visit_field::<i64>("id", 4, false)?
                .visit_field::<ForwardsUOffset<&str>>("name", 6, false)?
                .finish();
            Ok(())
        }
    }
    struct Root;
    impl Verifiable for Root {
        fn run_verifier(
            v: &mut Verifier<'_, '_>,
            pos: usize,
        ) -> Result<(), flatbuffers::InvalidFlatbuffer> {
            v.visit_table(pos)?
                .visit_field::<ForwardsUOffset<&str>>("key", 4, true)?
                .visit_field::<bool>("flag", 6, false)?
                .visit_field::<i8>("small", 8, false)?
                .visit_field::<u64>("wide", 10, false)?
                .visit_field::<f64>("ratio", 12, false)?
                .visit_field::<ForwardsUOffset<Inner>>("inner", 14, false)?
                .visit_field::<ForwardsUOffset<Vector<'_, ForwardsUOffset<&str>>>>(
                    "names", 16, false,
                )?
                .visit_field::<ForwardsUOffset<Vector<'_, i32>>>("numbers", 18, false)?
                .visit_field::<ForwardsUOffset<Vector<'_, ForwardsUOffset<Inner>>>>(
                    "many", 20, false,
                )?
                .visit_field::<f32>("half", 22, false)?
                .finish();
            Ok(())
        }
    }
    let payload = ours();
    let options = VerifierOptions::default();
    let mut verifier = Verifier::new(&options, &payload);
    <ForwardsUOffset<Root>>::run_verifier(&mut verifier, 0).unwrap();
}

#[test]
fn the_same_values_give_the_same_bytes_and_vtables_are_shared() {
    assert_eq!(ours(), ours());
    let (len, official) = (ours().len(), official().len());
    assert!(
        len <= official,
        "{len} bytes, the official builder needs {official}"
    );
}

#[test]
fn nesting_deeper_than_allowed_is_refused_when_writing() {
    let mut writer = Writer::new();
    let mut slot = writer.begin();
    let mut depth = 0;
    while writer.begin_table(slot) {
        slot = writer.slot(4);
        writer.end_table();
        depth += 1;
    }
    assert_eq!(depth, dflat_engine::object::DEPTH_MAX);
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), dflat_engine::ErrorKind::InvalidArgument);
    let _ = writer.begin();
    assert!(writer.finish().is_ok(), "the writer is usable again");
}
