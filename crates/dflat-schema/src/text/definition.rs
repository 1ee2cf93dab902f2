//! One definition as text.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use dflat_model::{
    Element, EnumLayout, FieldLayout, Shape, Step, StructLayout, TableDescriptor, TableLayout,
    TypeDescriptor, TypeId, UnionLayout, Value,
};

use super::Placed;
use super::indexes::Marks;
use super::path::Stop;
use super::string::quoted;

/// The vtable offset of a table's first field.
const FIRST_VOFFSET: u16 = 4;

/// Writes one definition.
pub(super) struct DefinitionWriter<'a, 'm> {
    placed: Placed<'a>,
    marks: &'m Marks<'a>,
    is_stored: bool,
}

impl<'a, 'm> DefinitionWriter<'a, 'm> {
    pub(super) const fn new(placed: Placed<'a>, marks: &'m Marks<'a>) -> Self {
        Self {
            placed,
            marks,
            is_stored: false,
        }
    }

    /// Adds the attribute `stored`.
    pub(super) const fn stored(mut self) -> Self {
        self.is_stored = true;
        self
    }

    /// The text; `None` if it cannot be written.
    pub(super) fn text(&self) -> Option<String> {
        let ty = self.placed.ty;
        let name = ty.name().rsplit('.').next().unwrap_or_default();
        match ty {
            TypeDescriptor::Enum(layout) => enumeration(name, layout),
            TypeDescriptor::Struct(layout) => self.structure(name, layout),
            TypeDescriptor::Union(layout) => self.union(name, layout),
            TypeDescriptor::Table(layout) => self.table(name, layout),
        }
    }

    fn structure(&self, name: &str, layout: &'a StructLayout) -> Option<String> {
        let mut natural = 1;
        let mut body = String::new();
        for field in layout.fields.iter() {
            natural = natural.max(self.align(field.element)?);
            let ty = self.element(field.element)?;
            let ty = match field.array {
                Some(length) => format!("[{ty}:{length}]"),
                None => ty,
            };
            let (owner, field) = (&*layout.name, &*field.name);
            let stop = Stop { ty: owner, field };
            let attributes = self.attributes_at(stop, Vec::new(), true);
            let _ = writeln!(body, "  {field}: {ty}{};", attributes);
        }
        let align = match layout.align {
            align if align > natural => format!(" (force_align: {align})"),
            _ => String::new(),
        };
        Some(format!("struct {name}{align} {{\n{body}}}\n"))
    }

    fn union(&self, name: &str, layout: &UnionLayout) -> Option<String> {
        let mut body = String::new();
        let mut next = 1;
        for member in layout.members.iter() {
            let ty = self.element(member.element)?;
            let code = match u16::from(member.code) == next {
                true => String::new(),
                false => format!(" = {}", member.code),
            };
            let _ = match ty == member.name {
                true => writeln!(body, "  {ty}{code},"),
                false => writeln!(body, "  {}: {ty}{code},", member.name),
            };
            next = u16::from(member.code) + 1;
        }
        Some(format!("union {name} {{\n{body}}}\n"))
    }

    fn table(&self, name: &str, layout: &'a TableLayout) -> Option<String> {
        let keys = self.placed.root.map_or(&[][..], |root| &*root.primary_key);
        let key_of = |field: &FieldLayout| {
            let steps = [Step::Field(field.voffset)];
            keys.iter().position(|key| *key.steps == steps)
        };
        let mut fields = self.with_unused(layout, &key_of)?;
        let keys_in_order: Vec<usize> = fields.iter().filter_map(|field| field.key).collect();
        if !keys_in_order.is_sorted() {
            fields.sort_by_key(|field| field.key.unwrap_or(usize::MAX));
        }
        if let Some(order) = &self.marks.order {
            fields = order.sorted(fields, |field| field.stop);
        }
        let has_ids = !fields.is_sorted_by_key(|field| field.voffset);
        let mut body = String::new();
        for field in fields {
            let id = match has_ids {
                true => Some(format!("id: {}", (field.voffset - FIRST_VOFFSET) / 2)),
                false => None,
            };
            let attributes = field.attributes.into_iter().chain(id);
            let attributes = match field.stop {
                Some(stop) => self.attributes_at(stop, attributes.collect(), field.contains),
                None => parenthesized(&attributes.collect::<Vec<_>>()),
            };
            let _ = writeln!(body, "  {}: {}{attributes};", field.name, field.ty);
        }
        let attributes = self.table_attributes(&layout.name)?;
        Some(format!("table {name}{attributes} {{\n{body}}}\n"))
    }

    fn table_attributes(&self, name: &str) -> Option<String> {
        let mut attributes = Vec::new();
        if self.is_stored {
            attributes.push("stored".to_owned());
        }
        if let Some(root) = self.placed.root
            && let Some(version) = version(root)?
        {
            attributes.push(format!("v: {}", quoted(version)));
        }
        attributes.extend(self.marks.of_table(name));
        Some(parenthesized(&attributes))
    }

    /// The fields of a table, with a field in each place that the layout leaves out.
    fn with_unused(
        &self,
        layout: &'a TableLayout,
        key_of: &dyn Fn(&FieldLayout) -> Option<usize>,
    ) -> Option<Vec<Written<'a>>> {
        let mut places: BTreeMap<u16, Option<Written<'a>>> = BTreeMap::new();
        for field in layout.fields.iter() {
            if let Shape::Single(Element::Union(_)) | Shape::Vector(Element::Union(_)) = field.shape
            {
                places.insert(field.voffset.checked_sub(2)?, None);
            }
            let written = self.field(layout, field, key_of(field))?;
            places.insert(field.voffset, Some(written));
        }
        let names: HashSet<&str> = layout.fields.iter().map(|field| &*field.name).collect();
        let mut number = 0;
        for voffset in (FIRST_VOFFSET..layout.end).step_by(2) {
            places.entry(voffset).or_insert_with(|| {
                let unused = loop {
                    let name = format!("unused_{number}");
                    number += 1;
                    if !names.contains(&*name) {
                        break name;
                    }
                };
                Some(Written::unused(unused, voffset))
            });
        }
        Some(places.into_values().flatten().collect())
    }

    fn field(
        &self,
        layout: &'a TableLayout,
        field: &'a FieldLayout,
        key: Option<usize>,
    ) -> Option<Written<'a>> {
        let (element, is_single) = match field.shape {
            Shape::Single(element) => (element, true),
            Shape::Vector(element) => (element, false),
        };
        let mut ty = self.element(element)?;
        if !is_single {
            ty = format!("[{ty}]");
        }
        if let Some(default) = self.default(element, &field.default).filter(|_| is_single) {
            ty = format!("{ty} = {default}");
        }
        let mut attributes = Vec::new();
        if key.is_some() {
            attributes.push("primary".to_owned());
        }
        if field.required {
            attributes.push("required".to_owned());
        }
        let contains = matches!(
            element,
            Element::Table(_) | Element::Struct(_) | Element::Union(_)
        );
        Some(Written {
            name: field.name.to_string(),
            voffset: field.voffset,
            ty,
            attributes,
            key,
            contains: contains && is_single,
            stop: Some(Stop {
                ty: &layout.name,
                field: &field.name,
            }),
        })
    }

    /// The default of a field, if it has to be written.
    fn default(&self, element: Element, default: &Value) -> Option<String> {
        match (element, default) {
            (Element::Scalar(_) | Element::Enum(_), Value::Null) => Some("null".to_owned()),
            (Element::Scalar(dflat_model::Scalar::Bool), Value::Int(value)) => {
                (*value != 0).then(|| "true".to_owned())
            }
            (Element::Enum(id), value) => {
                let TypeDescriptor::Enum(layout) = self.ty(id)? else {
                    return None;
                };
                let mut values = layout.values.iter();
                let named = values.find(|known| known.value == *value);
                match (named, value) {
                    (_, Value::Int(0)) => None,
                    (Some(known), _) => Some(known.name.to_string()),
                    (None, value) => Some(value.to_string()),
                }
            }
            (Element::Scalar(_), Value::Int(0)) => None,
            (Element::Scalar(_), Value::Float(value)) if value.to_bits() == 0 => None,
            (Element::Scalar(_), value) => Some(value.to_string()),
            (Element::Text, Value::Text(text)) => Some(quoted(text)),
            _ => None,
        }
    }

    /// The attributes of a field, with those of its indexes.
    fn attributes_at(&self, stop: Stop<'a>, mut attributes: Vec<String>, contains: bool) -> String {
        attributes.extend(self.marks.of_field(stop));
        if contains && self.marks.is_blocked(stop) && self.contains_types(stop) {
            attributes.push("no_indexes".to_owned());
        }
        parenthesized(&attributes)
    }

    /// Whether the type of a field is a table, a struct or a union.
    fn contains_types(&self, stop: Stop<'a>) -> bool {
        let is_type = |element: Element| {
            matches!(
                element,
                Element::Table(_) | Element::Struct(_) | Element::Union(_)
            )
        };
        match self.placed.ty {
            TypeDescriptor::Struct(layout) => layout.fields.iter().any(|field| {
                field.name == stop.field && field.array.is_none() && is_type(field.element)
            }),
            _ => true,
        }
    }

    fn ty(&self, id: TypeId) -> Option<&'a TypeDescriptor> {
        self.placed.types.get(usize::from(id.0))
    }

    fn element(&self, element: Element) -> Option<String> {
        let id = match element {
            Element::Scalar(scalar) => return Some(scalar.name().to_owned()),
            Element::Text => return Some("string".to_owned()),
            Element::Enum(id) | Element::Struct(id) | Element::Table(id) | Element::Union(id) => id,
        };
        let name = self.ty(id)?.name();
        let namespace = |name: &'a str| name.rsplit_once('.').map_or("", |(before, _)| before);
        let short = name.rsplit('.').next().unwrap_or_default();
        let is_near = namespace(name) == namespace(self.placed.ty.name());
        Some(if is_near { short } else { name }.to_owned())
    }

    fn align(&self, element: Element) -> Option<u32> {
        match element {
            Element::Scalar(scalar) => u32::try_from(scalar.size_bytes()).ok(),
            Element::Enum(id) => match self.ty(id)? {
                TypeDescriptor::Enum(layout) => u32::try_from(layout.base.size_bytes()).ok(),
                _ => None,
            },
            Element::Struct(id) => match self.ty(id)? {
                TypeDescriptor::Struct(layout) => Some(layout.align),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A field of a table, to be written.
struct Written<'a> {
    name: String,
    voffset: u16,
    ty: String,
    attributes: Vec<String>,
    /// The position in the primary key.
    key: Option<usize>,
    /// Whether it holds a table, a struct or a union.
    contains: bool,
    stop: Option<Stop<'a>>,
}

impl Written<'_> {
    /// A field that only keeps its number.
    fn unused(name: String, voffset: u16) -> Self {
        Self {
            name,
            voffset,
            ty: "bool".to_owned(),
            attributes: vec!["deprecated".to_owned()],
            key: None,
            contains: false,
            stop: None,
        }
    }
}

/// The version in the name of a stored table. `None` if the name is not that of the type.
fn version(table: &TableDescriptor) -> Option<Option<&str>> {
    let name = table.type_name.to_ascii_lowercase().replace('.', "__");
    let rest = table.name.strip_prefix(name.as_str())?;
    match rest {
        "" => Some(None),
        rest => rest.strip_prefix("_v").map(Some),
    }
}

fn enumeration(name: &str, layout: &EnumLayout) -> Option<String> {
    let flags = match layout.bit_flags {
        true => " (bit_flags)",
        false => "",
    };
    let mut body = String::new();
    for known in layout.values.iter() {
        let value = match (&known.value, layout.bit_flags) {
            (Value::Int(value), false) => i128::from(*value),
            (Value::UInt(value), false) => i128::from(*value),
            // A negative number is the highest bit of a signed type.
            (Value::Int(value), true) => i128::from(value.unsigned_abs().trailing_zeros()),
            (Value::UInt(value), true) => i128::from(value.trailing_zeros()),
            _ => return None,
        };
        let _ = writeln!(body, "  {} = {value},", known.name);
    }
    let base = layout.base.name();
    Some(format!("enum {name}: {base}{flags} {{\n{body}}}\n"))
}

fn parenthesized(attributes: &[String]) -> String {
    match attributes {
        [] => String::new(),
        attributes => format!(" ({})", attributes.join(", ")),
    }
}
