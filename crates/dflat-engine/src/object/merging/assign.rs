//! Copies a payload, with another value in one field of its root table.

use dflat_model::{Element, FieldLayout, ROOT_TYPE, Scalar, Shape, TypeDescriptor};

use super::super::{Malformed, TableView, Writer};
use super::copy::Copier;
use super::knowledge::Types;

/// A value for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned<'a> {
    /// A `ulong`.
    Number(u64),
    /// A string.
    Text(&'a str),
}

/// A copy of a payload in which the field at `voffset` of the root table, a `ulong` or a string,
/// has another value. Values that `types` do not know are left out.
///
/// # Errors
/// If the payload does not fit the types, or the field has another type than the value.
pub fn assign(
    types: &[TypeDescriptor],
    payload: &[u8],
    voffset: u16,
    value: Assigned<'_>,
) -> Result<Vec<u8>, Malformed> {
    let copier = Copier {
        types: Types(types),
        as_seen: false,
        canonical: None,
    };
    let TypeDescriptor::Table(layout) = copier.types.get(ROOT_TYPE)? else {
        return Err(Malformed);
    };
    let needed = Shape::Single(match value {
        Assigned::Number(_) => Element::Scalar(Scalar::U64),
        Assigned::Text(_) => Element::Text,
    });
    let mut fields = layout.fields.iter();
    if !fields.any(|field| field.voffset == voffset && field.shape == needed) {
        return Err(Malformed);
    }
    let from = TableView::root(payload)?;
    let mut writer = Writer::new();
    let root = writer.begin();
    if !writer.begin_table(root) {
        return Err(Malformed);
    }
    let is_other = |field: &&FieldLayout| field.voffset != voffset;
    let mut children = Vec::new();
    if let Assigned::Number(number) = value {
        writer.scalar(voffset, number);
    }
    for field in layout.fields.iter().filter(is_other) {
        if let Some(child) = copier.inline_part(&mut writer, field, from)? {
            children.push((field, child));
        }
    }
    if let Assigned::Text(text) = value {
        let slot = writer.slot(voffset);
        writer.end_table();
        writer.text(slot, text);
    } else {
        writer.end_table();
    }
    for (field, child) in children {
        copier.child(&mut writer, field, child, from)?;
    }
    writer.leave();
    Ok(writer.finish().map_err(|_| Malformed)?.to_vec())
}

#[cfg(test)]
mod tests {
    use dflat_model::Table;
    use dflat_schema::{MemoryLoader, Options, compile, describe};

    use super::*;
    use crate::object::{equal, verify};

    fn table() -> Table {
        let text = "struct Size { x: int; y: ubyte; } table Note { text: string; } \
                    union Content { Note } \
                    table Post { flag: bool; id: ulong (primary); name: string; size: Size; \
                    tags: [string]; note: Note; content: Content; } root_type Post;";
        let loader = MemoryLoader::new().with_file("post.fbs", text);
        let compiled = compile(&["post.fbs".to_owned()], &loader, &Options::default());
        let schema = compiled.schema.expect("the schema has no errors");
        Table::new(describe(
            &schema,
            schema.files[0].root.expect("it has a root"),
        ))
    }

    fn post(id: Option<u64>, name: Option<&str>) -> Vec<u8> {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        writer.scalar(4, true);
        if let Some(id) = id {
            writer.scalar(6, id);
        }
        writer
            .structure(10, 8, 4)
            .copy_from_slice(&[1, 2, 3, 4, 5, 0, 0, 0]);
        writer.scalar(16, 1_u8);
        let name = name.map(|name| (writer.slot(8), name));
        let (tags, note, content) = (writer.slot(12), writer.slot(14), writer.slot(18));
        writer.end_table();
        if let Some((slot, name)) = name {
            writer.text(slot, name);
        }
        let first = writer.slots(tags, 2);
        writer.text(first, "a");
        writer.text(first.nth(1), "bc");
        for slot in [note, content] {
            assert!(writer.begin_table(slot));
            let text = writer.slot(4);
            writer.end_table();
            writer.text(text, "inner");
            writer.leave();
        }
        writer.leave();
        writer.finish().expect("it is small").to_vec()
    }

    #[test]
    fn one_field_gets_a_value_and_the_others_stay() {
        let table = table();
        for (id, name) in [(None, None), (Some(3), Some("x")), (None, Some("a name"))] {
            let before = post(id, name);
            for number in [1, u64::MAX] {
                let written = assign(&table.types, &before, 6, Assigned::Number(number)).unwrap();
                verify(&table.types, &written).expect("it is well formed");
                assert!(equal(&table.types, &written, &post(Some(number), name)));
            }
            let text = Assigned::Text("0191e8a0-0000-7000-8000-000000000000");
            let written = assign(&table.types, &before, 8, text).unwrap();
            verify(&table.types, &written).expect("it is well formed");
            let named = post(id, Some("0191e8a0-0000-7000-8000-000000000000"));
            assert!(equal(&table.types, &written, &named));
        }
        assert!(assign(&table.types, &[1, 2, 3], 6, Assigned::Number(1)).is_err());
        // The field is of another type, or there is no such field.
        let before = post(Some(3), Some("x"));
        for (voffset, value) in [
            (8, Assigned::Number(1)),
            (6, Assigned::Text("x")),
            (4, Assigned::Number(1)),
            (12, Assigned::Text("x")),
            (40, Assigned::Number(1)),
        ] {
            assert!(assign(&table.types, &before, voffset, value).is_err());
        }
    }
}
