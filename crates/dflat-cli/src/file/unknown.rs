//! Types that nothing describes: tables of a file with a key and payloads.

use dflat_engine::object::TableView;
use dflat_model::{
    ColumnType, Field, FieldKind, Scalar, Step, Table, TableDescriptor, TableLayout,
    TypeDescriptor, Value,
};

/// A descriptor with the name and the key of a table, and without fields. It serves to count the
/// objects and to read their bytes.
pub(super) fn bare(name: &str, key: &[Option<ColumnType>]) -> Table {
    let key = key.iter().enumerate().map(|(position, column)| Field {
        name: format!("__pk{position}").into(),
        // The path of the field is not known, and not used by reads.
        steps: vec![Step::Field(4)].into(),
        kind: match column {
            Some(ColumnType::Text) => FieldKind::Text,
            Some(ColumnType::Real) => FieldKind::Scalar(Scalar::F64),
            Some(ColumnType::Integer) | None => FieldKind::Scalar(Scalar::I64),
        },
        default: Value::Null,
    });
    let layout = TableLayout {
        name: name.to_owned().into(),
        fields: Vec::new().into(),
        end: 4,
    };
    Table::new(TableDescriptor {
        name: name.to_owned().into(),
        type_name: name.to_owned().into(),
        primary_key: key.collect(),
        auto_key: None,
        indexes: Vec::new().into(),
        types: vec![TypeDescriptor::Table(layout)].into(),
    })
}

/// The largest number of slots that are shown.
const SLOTS_MAX: u16 = 1000;

/// The fields of a payload by their slots, from 0: a text if the bytes look like one, else the
/// first eight bytes in hexadecimal.
pub(crate) fn slots(payload: &[u8]) -> Vec<(u16, String)> {
    let Ok(view) = TableView::root(payload) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for slot in 0..SLOTS_MAX {
        let voffset = 4 + 2 * slot;
        if !view.has_from(voffset) {
            break;
        }
        if !view.has(voffset) {
            continue;
        }
        let text = view.text(voffset).ok().flatten();
        let is_text = |text: &&str| !text.is_empty() && !text.contains('\0');
        let shown = match text.filter(is_text) {
            Some(text) => format!("{text:?}"),
            None => hexadecimal(view.structure_from(voffset, 0).ok().flatten()),
        };
        found.push((slot, shown));
    }
    found
}

/// The first bytes.
fn hexadecimal(bytes: Option<&[u8]>) -> String {
    let bytes = bytes.unwrap_or_default().iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
