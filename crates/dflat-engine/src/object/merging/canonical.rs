//! The canonical form of an object: equal values give equal bytes, whichever encoder wrote them.

use dflat_model::{ROOT_TYPE, TableDescriptor};

use super::super::{Malformed, TableView, Writer};
use super::copy::Copier;
use super::knowledge::Types;

/// Copies a payload into the form that generated code writes: the inline values of a table by
/// descending alignment and then by their vtable offsets, the values behind it by their vtable
/// offsets, nothing shared but vtables, no padding but zeros, and no value that equals its default
/// unless it is required or a part of the primary key. Copying a copy changes nothing.
///
/// Generated code writes values in the order in which the schema declares them; if the schema
/// assigns other offsets than in this order, its payloads differ from their canonical forms.
///
/// The payload must be verified, and the types must [know](super::Knowledge::covers) all its
/// values: values that they do not know are left out.
///
/// # Errors
/// If the payload does not fit the types, or the copy would be too large.
pub fn canonical(table: &TableDescriptor, payload: &[u8]) -> Result<Vec<u8>, Malformed> {
    let copier = Copier {
        types: Types(&table.types),
        as_seen: false,
        canonical: Some(&table.primary_key),
    };
    Writer::with_kept(|writer| {
        let root = writer.begin();
        copier.table(writer, root, ROOT_TYPE, TableView::root(payload)?)?;
        Ok(writer.finish().map_err(|_| Malformed)?.to_vec())
    })
}

#[cfg(test)]
mod tests {
    use dflat_model::Table;
    use dflat_schema::{MemoryLoader, Options, compile, describe};

    use super::*;
    use crate::object::{Slot, equal, verify};

    fn table() -> Table {
        let text = "struct Spot { on: bool; x: int; } enum Level: ubyte { Low = 1, High = 2 } \
                    table Post { id: string (primary); rank: int = 7; ratio: float = 0.5; \
                    level: Level = High; maybe: int = null; name: string; tags: [string]; \
                    spot: Spot; spots: [Spot]; } root_type Post;";
        let loader = MemoryLoader::new().with_file("post.fbs", text);
        let compiled = compile(&["post.fbs".to_owned()], &loader, &Options::default());
        let schema = compiled.schema.expect("the schema has no errors");
        Table::new(describe(
            &schema,
            schema.files[0].root.expect("it has a root"),
        ))
    }

    /// A payload whose key is empty, with what `inline` and `children` write.
    fn payload(
        inline: impl FnOnce(&mut Writer) -> Vec<Slot>,
        children: impl FnOnce(&mut Writer, &[Slot]),
    ) -> Vec<u8> {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        let key = writer.slot(4);
        let slots = inline(&mut writer);
        writer.end_table();
        writer.text(key, "");
        children(&mut writer, &slots);
        writer.leave();
        writer.finish().expect("it is small").to_vec()
    }

    fn check(given: &[u8], expected: &[u8]) {
        let table = table();
        verify(&table.types, given).expect("it is well formed");
        let made = canonical(&table, given).expect("it fits the types");
        assert_eq!(made, expected);
        assert!(equal(&table.types, given, &made));
        assert_eq!(canonical(&table, &made).expect("it fits"), made);
    }

    #[test]
    fn values_that_equal_their_defaults_are_left_out() {
        let plain = payload(|_| Vec::new(), |_, _| ());
        let full = payload(
            |writer| {
                writer.scalar(6, 7_i32);
                writer.scalar(8, 0.5_f32);
                writer.scalar(10, 2_u8);
                vec![writer.slot(16), writer.slot(20)]
            },
            |writer, slots| {
                let _ = writer.slots(slots[0], 0);
                let _ = writer.structures(slots[1], 0, 8, 4);
            },
        );
        check(&plain, &plain);
        check(&full, &plain);
    }

    #[test]
    fn values_without_a_default_stay() {
        let given = payload(
            |writer| {
                writer.scalar(6, 0_i32);
                writer.scalar(8, 0.0_f32);
                writer.scalar(12, 0_i32);
                let name = writer.slot(14);
                writer.scalar(10, 1_u8);
                vec![name]
            },
            |writer, slots| writer.text(slots[0], ""),
        );
        check(&given, &given);
    }

    #[test]
    fn padding_and_booleans_become_plain() {
        let written = |spot: [u8; 8]| {
            payload(
                |writer| {
                    writer.structure(18, 8, 4).copy_from_slice(&spot);
                    vec![writer.slot(20)]
                },
                |writer, slots| {
                    let places = writer.structures(slots[0], 2, 8, 4);
                    places.copy_from_slice([spot, spot].as_flattened());
                },
            )
        };
        let plain = written([1, 0, 0, 0, 4, 5, 6, 7]);
        check(&written([1, 1, 2, 3, 4, 5, 6, 7]), &plain);
        let other_truth = written([9, 0, 0, 0, 4, 5, 6, 7]);
        assert_eq!(canonical(&table(), &other_truth).as_deref(), Ok(&*plain));
    }
}
