//! Structs, and tables that are not stored, as Swift structs.

use super::text::Text;
use super::values::{float, scalar_type};
use super::{Scope, names};
use crate::plan::{FieldPlan, Item, StructFieldPlan, StructPlan, TablePlan, Value};
use dflat_model::Scalar;
use dflat_schema::Default as FieldDefault;

/// A parameter of a memberwise initialiser.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) default: String,
}

impl Scope<'_> {
    pub(super) fn structure(self, plan: &StructPlan<'_>, text: &mut Text) {
        text.docs(&self.ty().definition.docs);
        self.value_type(text, |text| {
            for field in &plan.fields {
                text.docs(&field.source.docs);
                let (name, ty) = (self.part_name(field), self.part_type(field));
                text.line(format!("public var {name}: {ty}"));
            }
            let parameters = plan.fields.iter().map(|field| Parameter {
                name: self.part_name(field),
                ty: self.part_type(field),
                default: self.part_default(field),
            });
            let parameters: Vec<Parameter> = parameters.collect();
            self.memberwise(&parameters, text, |parameter, text| {
                let Parameter { name, default, .. } = parameter;
                text.line(format!("self.{name} = {name} ?? {default}"));
            });
            let names: Vec<String> = plan.fields.iter().map(|f| self.part_name(f)).collect();
            self.fields_description(&names, text);
        });
    }

    fn part_name(self, field: &StructFieldPlan<'_>) -> String {
        names::escaped(&names::field(&field.source.name))
    }

    fn part_type(self, field: &StructFieldPlan<'_>) -> String {
        let item = self.item_type(field.item);
        match field.source.array {
            Some(_) => format!("[{item}]"),
            None => item,
        }
    }

    fn part_default(self, field: &StructFieldPlan<'_>) -> String {
        let one = match field.item {
            Item::Scalar(Scalar::Bool) => "false".to_owned(),
            Item::Scalar(scalar) if scalar.is_float() => float(0.0),
            Item::Enum(id) => self.zero(id),
            Item::Struct(id) => format!("{}()", self.other(id)),
            _ => "0".to_owned(),
        };
        match field.source.array {
            Some(count) => format!("Array(repeating: {one}, count: {count})"),
            None => one,
        }
    }

    /// The value of an enum with the number 0, or its first value.
    fn zero(self, id: dflat_schema::DefinitionId) -> String {
        let made = self.enum_of(id, "0", &FieldDefault::Integer(0));
        match made.split_once(" ?? ") {
            Some((_, value)) => value.to_owned(),
            None => made,
        }
    }

    /// Prints `init` with a parameter for each field, of which each may be nil.
    fn memberwise(
        self,
        parameters: &[Parameter],
        text: &mut Text,
        assign: impl Fn(&Parameter, &mut Text),
    ) {
        let list = parameters.iter().map(|parameter| {
            let Parameter { name, ty, default } = parameter;
            match ty.ends_with('?') {
                true => format!("{name}: {ty} = {default}"),
                false => format!("{name}: {ty}? = {default}"),
            }
        });
        let list = list.collect::<Vec<_>>().join(", ");
        text.item(format!("public init({list})"), |text| {
            parameters
                .iter()
                .for_each(|parameter| assign(parameter, text));
        });
    }

    /// Prints a Swift struct that is read from payloads.
    fn value_type(self, text: &mut Text, inside: impl FnOnce(&mut Text)) {
        let (name, added) = (self.name(), self.added());
        let head = format!("public struct {name}: Equatable, FlatBuffersDecodable{added}");
        text.block(head, |text| {
            inside(text);
            self.decoding(text);
        });
    }

    /// Prints the requirements of `FlatBuffersDecodable`.
    pub(super) fn decoding(self, text: &mut Text) {
        let is_struct = matches!(self.ty().kind, crate::plan::Kind::Struct(_));
        let place = match is_struct {
            true => "structure: bb",
            false => "table: bb",
        };
        let name = self.name();
        text.item(
            "public static func from(byteBuffer bb: ByteBuffer) -> Self",
            |text| {
                text.line(format!("Self(_PayloadReader({place}))"));
            },
        );
        text.item(
            "public static func verify(byteBuffer bb: ByteBuffer) -> Bool",
            |text| {
                text.line(format!(
                    "_PayloadReader.verify({place}) {{ {name}._verify($0) }}"
                ));
            },
        );
        text.item(
            "public static var flatBuffersSchemaVersion: String?",
            |text| {
                let version = match &self.ty().definition.kind {
                    dflat_schema::DefinitionKind::Table(table) => table.version.as_deref(),
                    _ => None,
                };
                text.line(match version {
                    Some(version) => super::values::string(version),
                    None => "nil".to_owned(),
                });
            },
        );
    }

    /// Prints a table that is not stored.
    pub(super) fn table(self, plan: &TablePlan<'_>, text: &mut Text) {
        text.docs(&self.ty().definition.docs);
        self.value_type(text, |text| {
            for field in &plan.fields {
                self.variable(field, text);
            }
            let parameters: Vec<Parameter> =
                plan.fields.iter().map(|f| self.parameter(f)).collect();
            self.memberwise(&parameters, text, |parameter, text| {
                let Parameter { name, ty, default } = parameter;
                let boxed = plan
                    .fields
                    .iter()
                    .any(|field| self.is_boxed(field) && self.field_name(field) == *name);
                text.line(match (boxed, ty.ends_with('?')) {
                    (true, _) => {
                        let plain = name.trim_matches('`');
                        format!("self._{plain} = {name}.map {{ [$0] }} ?? []")
                    }
                    (false, true) => format!("self.{name} = {name}"),
                    (false, false) => format!("self.{name} = {name} ?? {default}"),
                });
            });
            let names: Vec<String> = plan.fields.iter().map(|f| self.field_name(f)).collect();
            self.fields_description(&names, text);
        });
    }

    pub(super) fn parameter(self, field: &FieldPlan<'_>) -> Parameter {
        Parameter {
            name: self.field_name(field),
            ty: self.field_type(field),
            default: self.default(field),
        }
    }

    /// Whether a struct would contain itself without a box.
    pub(super) fn is_boxed(self, field: &FieldPlan<'_>) -> bool {
        matches!(field.value, Value::Table { id, boxed: true, .. }
            if self.plan.ty(id).stored.is_none())
    }

    pub(super) fn field_name(self, field: &FieldPlan<'_>) -> String {
        names::escaped(&names::field(&field.source.name))
    }

    /// Prints the property of a table's field. A table that contains itself has it in an array.
    pub(super) fn variable(self, field: &FieldPlan<'_>, text: &mut Text) {
        let (name, ty) = (self.field_name(field), self.field_type(field));
        if self.is_boxed(field) {
            let plain = name.trim_matches('`').to_owned();
            text.line(format!(
                "private var _{plain}: [{}]",
                self.plain_type(field)
            ));
            text.docs(&field.source.docs);
            text.block(format!("public var {name}: {ty}"), |text| {
                text.line(format!("get {{ _{plain}.first }}"));
                text.line(format!(
                    "set {{ _{plain} = newValue.map {{ [$0] }} ?? [] }}"
                ));
            });
        } else {
            text.docs(&field.source.docs);
            text.line(format!("public var {name}: {ty}"));
        }
    }

    /// The code that reads a field of a struct at `place`.
    pub(super) fn read_part(self, field: &StructFieldPlan<'_>, place: &str) -> String {
        let offset = field.source.offset;
        let one = |offset: String| match field.item {
            Item::Scalar(Scalar::Bool) => format!("{place}.boolPart({offset})"),
            Item::Scalar(scalar) => {
                format!("{place}.part({offset}, as: {}.self)", scalar_type(scalar))
            }
            Item::Enum(id) => {
                let ty = scalar_type(self.enum_base(id));
                let raw = format!("{place}.part({offset}, as: {ty}.self)");
                self.enum_of(id, &raw, &FieldDefault::Integer(0))
            }
            Item::Struct(id) => format!("{}({place}.inner({offset}))", self.other(id)),
            Item::Text | Item::Table(_) | Item::Union(_) => String::new(),
        };
        match field.source.array {
            Some(count) => {
                let stride = field.stride;
                let made = one(format!("{offset} + $0 * {stride}"));
                format!("(0..<{count}).map {{ {made} }}")
            }
            None => one(offset.to_string()),
        }
    }
}
