//! A table's descriptor as a static.
//!
//! It is printed from the descriptor's value and not from the schema, so that generated code and a
//! schema read at run time describe the same storage. Each element is on one line, without rustfmt,
//! because a descriptor is data.

use dflat_model::{
    AutoKey, Element, EnumLayout, Field, FieldKind, FieldLayout, IndexCondition, IndexDescriptor,
    MemberLayout, Scalar, Shape, Step, StructFieldLayout, StructLayout, TableDescriptor,
    TableLayout, TypeDescriptor, UnionLayout, Value,
};

use super::defaults::{NEAR_CONSTANT, is_near_constant};
use super::text::Text;
use super::{NONE, SOME, literals, scalar_kind};

/// Prints `static DESCRIPTOR`.
pub(super) fn print_descriptor(descriptor: &TableDescriptor, codegen: &str, text: &mut Text) {
    let c = Constants { codegen };
    let ty = format!("{codegen}::TableDescriptor");
    text.line("#[rustfmt::skip]");
    let mut conditions = descriptor
        .indexes
        .iter()
        .filter_map(|index| index.condition.as_ref());
    if descriptor.types.iter().any(has_near_constant) || conditions.any(compares_near_constant) {
        NEAR_CONSTANT.print(text);
    }
    text.verbatim_line(&format!("static DESCRIPTOR: {ty} = {ty} {{"));
    text.body(|text| {
        text.verbatim_line(&format!("name: {},", c.text(&descriptor.name)));
        text.verbatim_line(&format!("type_name: {},", c.text(&descriptor.type_name)));
        c.list("primary_key", &descriptor.primary_key, text, |key, text| {
            text.verbatim_line(&format!("{},", c.path(key)));
        });
        text.verbatim_line(&format!("auto_key: {},", c.auto_key(descriptor.auto_key)));
        c.list("indexes", &descriptor.indexes, text, |index, text| {
            text.verbatim_line(&c.index(index));
        });
        c.list("types", &descriptor.types, text, |ty, text| c.ty(ty, text));
    });
    text.line("};");
}

/// Prints `static TYPES`.
pub(super) fn print_types(types: &[TypeDescriptor], codegen: &str, text: &mut Text) {
    let c = Constants { codegen };
    let ty = format!("{codegen}::TypeDescriptor");
    text.line("#[rustfmt::skip]");
    if types.iter().any(has_near_constant) {
        NEAR_CONSTANT.print(text);
    }
    text.verbatim_line(&format!("static TYPES: &[{ty}] = &["));
    text.body(|text| types.iter().for_each(|ty| c.ty(ty, text)));
    text.line("];");
}

/// Whether clippy would suggest a constant of the standard library for a default.
fn has_near_constant(ty: &TypeDescriptor) -> bool {
    let near = |field: &FieldLayout| match field.default {
        Value::Float(value) => is_near_constant(value),
        _ => false,
    };
    match ty {
        TypeDescriptor::Table(table) => table.fields.iter().any(near),
        _ => false,
    }
}

/// The same for the values in a condition.
fn compares_near_constant(condition: &IndexCondition) -> bool {
    match condition {
        IndexCondition::Compare {
            value: Value::Float(value),
            ..
        } => is_near_constant(*value),
        IndexCondition::And(parts) | IndexCondition::Or(parts) => {
            parts.iter().any(compares_near_constant)
        }
        _ => false,
    }
}

/// Constants of the types of `codegen`.
#[derive(Clone, Copy)]
struct Constants<'c> {
    codegen: &'c str,
}

impl Constants<'_> {
    fn text(self, text: &str) -> String {
        format!("{}::Cow::Borrowed({text:?})", self.codegen)
    }

    fn list<T>(self, name: &str, items: &[T], text: &mut Text, each: impl Fn(&T, &mut Text)) {
        text.verbatim_line(&format!("{name}: {}::Cow::Borrowed(&[", self.codegen));
        text.body(|text| items.iter().for_each(|item| each(item, text)));
        text.verbatim_line("]),");
    }

    fn auto_key(self, auto: Option<AutoKey>) -> String {
        match auto {
            None => NONE.to_owned(),
            Some(AutoKey::Increasing) => {
                format!("{SOME}({}::AutoKey::Increasing)", self.codegen)
            }
            // The constant exists only with the feature that the keys need.
            Some(AutoKey::UuidV7) => format!("{SOME}({}::UUID_V7_KEYS)", self.codegen),
        }
    }

    fn path(self, field: &Field) -> String {
        let Self { codegen } = self;
        let steps: Vec<String> = field.steps.iter().map(|step| self.step(*step)).collect();
        let kind = match field.kind {
            FieldKind::Scalar(scalar) => format!("Scalar({})", self.scalar(scalar)),
            FieldKind::Text => "Text".to_owned(),
        };
        format!(
            "{codegen}::FieldPath {{ name: {}, steps: {codegen}::Cow::Borrowed(&[{}]), \
             kind: {codegen}::FieldKind::{kind}, default: {} }}",
            self.text(&field.name),
            steps.join(", "),
            self.value(&field.default),
        )
    }

    fn step(self, step: Step) -> String {
        let step = match step {
            Step::Field(offset) => format!("Field({offset})"),
            Step::Offset(offset) => format!("Offset({offset})"),
            Step::Member(code) => format!("Member({code})"),
            Step::Tag => "Tag".to_owned(),
        };
        format!("{}::Step::{step}", self.codegen)
    }

    fn scalar(self, scalar: Scalar) -> String {
        format!("{}::ScalarKind::{}", self.codegen, scalar_kind(scalar))
    }

    fn value(self, value: &Value) -> String {
        let value = match value {
            Value::Null => "Null".to_owned(),
            Value::Int(value) => format!("Int({})", literals::integer(value)),
            Value::UInt(value) => format!("UInt({})", literals::integer(value)),
            Value::Float(value) => format!("Float({})", literals::float(Scalar::F64, *value)),
            Value::Text(text) => format!("Text({})", self.text(text)),
        };
        format!("{}::Value::{value}", self.codegen)
    }

    fn index(self, index: &IndexDescriptor) -> String {
        let Self { codegen } = self;
        let fields: Vec<String> = index.fields.iter().map(|field| self.path(field)).collect();
        let condition = match &index.condition {
            Some(condition) => format!("{}({})", SOME, self.condition(condition)),
            None => NONE.to_owned(),
        };
        format!(
            "{codegen}::IndexDescriptor {{ fields: {codegen}::Cow::Borrowed(&[{}]), \
             unique: {}, condition: {condition} }},",
            fields.join(", "),
            index.unique,
        )
    }

    fn condition(self, condition: &IndexCondition) -> String {
        let Self { codegen } = self;
        let all = |parts: &[IndexCondition]| {
            let parts: Vec<String> = parts.iter().map(|part| self.condition(part)).collect();
            format!("{codegen}::Cow::Borrowed(&[{}])", parts.join(", "))
        };
        let condition = match condition {
            IndexCondition::Compare {
                field,
                operator,
                value,
            } => format!(
                "Compare {{ field: {}, operator: {codegen}::Comparison::{operator:?}, value: {} }}",
                self.path(field),
                self.value(value),
            ),
            IndexCondition::IsNull(field) => format!("IsNull({})", self.path(field)),
            IndexCondition::IsNotNull(field) => format!("IsNotNull({})", self.path(field)),
            IndexCondition::And(parts) => format!("And({})", all(parts)),
            IndexCondition::Or(parts) => format!("Or({})", all(parts)),
        };
        format!("{codegen}::IndexCondition::{condition}")
    }

    fn element(self, element: Element) -> String {
        let Self { codegen } = self;
        let element = match element {
            Element::Scalar(scalar) => format!("Scalar({})", self.scalar(scalar)),
            Element::Text => "Text".to_owned(),
            Element::Enum(id) => format!("Enum({codegen}::TypeId({}))", id.0),
            Element::Struct(id) => format!("Struct({codegen}::TypeId({}))", id.0),
            Element::Table(id) => format!("Table({codegen}::TypeId({}))", id.0),
            Element::Union(id) => format!("Union({codegen}::TypeId({}))", id.0),
        };
        format!("{codegen}::Element::{element}")
    }

    fn ty(self, ty: &TypeDescriptor, text: &mut Text) {
        match ty {
            TypeDescriptor::Table(table) => self.table(table, text),
            TypeDescriptor::Struct(found) => self.structure(found, text),
            TypeDescriptor::Union(union) => self.union(union, text),
            TypeDescriptor::Enum(found) => self.enumeration(found, text),
        }
    }

    /// `TypeDescriptor::Kind(Layout { .. })`.
    fn layout(self, kind: &str, name: &str, text: &mut Text, body: impl FnOnce(&mut Text)) {
        let Self { codegen } = self;
        let layout = format!("{codegen}::{kind}Layout");
        text.verbatim_line(&format!("{codegen}::TypeDescriptor::{kind}({layout} {{"));
        text.body(|text| {
            text.verbatim_line(&format!("name: {},", self.text(name)));
            body(text);
        });
        text.verbatim_line("}),");
    }

    fn table(self, table: &TableLayout, text: &mut Text) {
        self.layout("Table", &table.name, text, |text| {
            self.list("fields", &table.fields, text, |field, text| {
                text.verbatim_line(&self.table_field(field));
            });
            text.verbatim_line(&format!("end: {},", table.end));
        });
    }

    fn table_field(self, field: &FieldLayout) -> String {
        let Self { codegen } = self;
        let shape = match field.shape {
            Shape::Single(element) => format!("Single({})", self.element(element)),
            Shape::Vector(element) => format!("Vector({})", self.element(element)),
        };
        format!(
            "{codegen}::FieldLayout {{ name: {}, voffset: {}, shape: {codegen}::Shape::{shape}, \
             default: {}, required: {} }},",
            self.text(&field.name),
            field.voffset,
            self.value(&field.default),
            field.required,
        )
    }

    fn structure(self, found: &StructLayout, text: &mut Text) {
        self.layout("Struct", &found.name, text, |text| {
            text.verbatim_line(&format!("size: {},", found.size));
            text.verbatim_line(&format!("align: {},", found.align));
            self.list("fields", &found.fields, text, |field, text| {
                text.verbatim_line(&self.struct_field(field));
            });
        });
    }

    fn struct_field(self, field: &StructFieldLayout) -> String {
        let array = match field.array {
            Some(length) => format!("{}({length})", SOME),
            None => NONE.to_owned(),
        };
        format!(
            "{}::StructFieldLayout {{ name: {}, offset: {}, element: {}, array: {array} }},",
            self.codegen,
            self.text(&field.name),
            field.offset,
            self.element(field.element),
        )
    }

    fn union(self, union: &UnionLayout, text: &mut Text) {
        self.layout("Union", &union.name, text, |text| {
            self.list("members", &union.members, text, |member, text| {
                text.verbatim_line(&self.member(member));
            });
        });
    }

    fn member(self, member: &MemberLayout) -> String {
        format!(
            "{}::MemberLayout {{ name: {}, code: {}, element: {} }},",
            self.codegen,
            self.text(&member.name),
            member.code,
            self.element(member.element),
        )
    }

    fn enumeration(self, found: &EnumLayout, text: &mut Text) {
        self.layout("Enum", &found.name, text, |text| {
            text.verbatim_line(&format!("base: {},", self.scalar(found.base)));
            text.verbatim_line(&format!("bit_flags: {},", found.bit_flags));
            self.list("values", &found.values, text, |value, text| {
                let name = self.text(&value.name);
                let number = self.value(&value.value);
                let layout = format!("{}::EnumValueLayout", self.codegen);
                text.verbatim_line(&format!("{layout} {{ name: {name}, value: {number} }},"));
            });
        });
    }
}
