//! The encoding of structs and tables.

use super::Scope;
use super::text::Text;
use crate::plan::{FieldPlan, Inline, Item, Kind, StructPlan, TablePlan, Value};

const HEAD: &str = "public func to(flatBufferBuilder: inout FlatBufferBuilder) -> Offset";

/// The head of the function that writes a value over a stored one.
pub(super) const HEAD_OVER: &str = "func _write(to flatBufferBuilder: inout FlatBufferBuilder, \
                                    over stored: _PayloadReader?) -> Offset";

impl Scope<'_> {
    pub(super) fn struct_writing(self, plan: &StructPlan<'_>, text: &mut Text) {
        let head = format!("extension {}: FlatBuffersEncodable", self.path());
        text.item(head, |text| {
            text.block(HEAD, |text| {
                let (size, align) = (plan.size, plan.align);
                text.line(format!(
                    "flatBufferBuilder.create(structSize: {size}, alignment: {align}) {{ \
                     self._write(to: $0) }}"
                ));
            });
        });
    }

    pub(super) fn table_writing(self, plan: &TablePlan<'_>, text: &mut Text) {
        let is_stored = self.ty().stored.is_some();
        let head = format!("extension {}: FlatBuffersEncodable", self.path());
        text.item(head, |text| {
            text.block(HEAD, |text| match (is_stored, self.has_union_vectors()) {
                (true, false) => text.line("_builder._write(to: &flatBufferBuilder)"),
                (false, false) => self.write_fields(plan, text),
                (_, true) => text.line("_write(to: &flatBufferBuilder, over: nil)"),
            });
            if self.has_union_vectors() {
                text.item(format!("public {HEAD_OVER}"), |text| match is_stored {
                    true => {
                        text.line("_builder._write(to: &flatBufferBuilder, over: stored)");
                    }
                    false => self.write_fields(plan, text),
                });
            }
        });
        if is_stored {
            text.item(format!("extension {}", self.path()), |text| {
                text.block("public func toData() -> Data", |text| {
                    text.line("if let payload = _payload { return Data(payload.bytes) }");
                    text.line("var builder = FlatBufferBuilder(initialSize: 256)");
                    text.line("let root = to(flatBufferBuilder: &builder)");
                    text.line("builder.finish(offset: root)");
                    text.line("return builder.data");
                });
            });
        }
    }

    /// Prints the function that writes the fields of a stored type, inside its builder.
    pub(super) fn builder_writing(self, plan: &TablePlan<'_>, text: &mut Text) {
        let head = match self.has_union_vectors() {
            true => HEAD_OVER,
            false => "func _write(to flatBufferBuilder: inout FlatBufferBuilder) -> Offset",
        };
        text.item(head, |text| self.write_fields(plan, text));
    }

    fn write_fields(self, plan: &TablePlan<'_>, text: &mut Text) {
        for field in &plan.fields {
            if let Some(made) = self.reference(field) {
                let at = field.source.voffset;
                match field.value {
                    Value::Vector(Item::Union(_)) => {
                        text.line(format!("let (__f{at}, __c{at}) = {made}"));
                    }
                    _ => text.line(format!("let __f{at} = {made}")),
                }
            }
        }
        let count = plan.fields.len();
        text.line(format!(
            "let __start = flatBufferBuilder.startTable(with: {count})"
        ));
        for inline in &plan.inline {
            self.inline(plan, *inline, text);
        }
        text.line("return Offset(offset: flatBufferBuilder.endTable(at: __start))");
    }

    /// The code that writes a value which the table refers to.
    fn reference(self, field: &FieldPlan<'_>) -> Option<String> {
        let name = format!("self.{}", self.field_name(field));
        let builder = "flatBufferBuilder";
        if let Some(made) = self.reference_over(field) {
            return Some(made);
        }
        Some(match field.value {
            Value::Text { .. } => format!("{builder}.create(string: {name})"),
            Value::Table { .. } | Value::Union(_) => {
                format!("{name}?.to(flatBufferBuilder: &{builder}) ?? Offset()")
            }
            Value::Vector(item) => {
                let made = match item {
                    Item::Scalar(_) => format!("createVector({name})"),
                    Item::Enum(_) => format!("createVector({name}.map {{ $0.rawValue }})"),
                    Item::Text => format!("createVector(ofStrings: {name})"),
                    Item::Table(_) | Item::Union(_) => format!("createVector(encoding: {name})"),
                    Item::Struct(id) => {
                        let (size, align) = self.layout(id);
                        format!(
                            "createVector(ofStructs: {name}, size: {size}, alignment: {align}) \
                             {{ $0._write(to: $1) }}"
                        )
                    }
                };
                match field.source.required {
                    true => format!("{builder}.{made}"),
                    false => format!("{name}.isEmpty ? Offset() : {builder}.{made}"),
                }
            }
            Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. } | Value::Struct(_) => {
                return None;
            }
        })
    }

    fn layout(self, id: dflat_schema::DefinitionId) -> (u32, u32) {
        match &self.plan.ty(id).kind {
            Kind::Struct(plan) => (plan.size, plan.align),
            _ => (0, 1),
        }
    }

    /// Prints the code that adds a value to the open table.
    fn inline(self, plan: &TablePlan<'_>, inline: Inline, text: &mut Text) {
        let builder = "flatBufferBuilder";
        let (position, code) = match inline {
            Inline::Value(position) => (position, false),
            Inline::Code(position) => (position, true),
        };
        let field = &plan.fields[position];
        let at = field.source.voffset;
        let name = format!("self.{}", self.field_name(field));
        let raw = match field.value {
            Value::Enum { .. } => ".rawValue",
            _ => "",
        };
        let absent = self.stored_default(field);
        text.line(match (field.value, code) {
            (Value::Union(_), true) => {
                let tag = at - 2;
                format!("{builder}.add(element: {name}?._code ?? 0, def: 0, at: {tag})")
            }
            (_, true) => format!("{builder}.add(offset: __c{at}, at: {})", at - 2),
            (Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. }, false) => {
                match self.is_optional(field) {
                    true if raw.is_empty() => format!("{builder}.add(element: {name}, at: {at})"),
                    true => format!("{builder}.add(element: {name}?{raw}, at: {at})"),
                    false => {
                        format!("{builder}.add(element: {name}{raw}, def: {absent}, at: {at})")
                    }
                }
            }
            (Value::Struct(id), false) => {
                let (size, align) = self.layout(id);
                format!(
                    "if let value = {name} {{\n  {builder}.add(structSize: {size}, alignment: \
                     {align}, at: {at}) {{ value._write(to: $0) }}\n}}"
                )
            }
            (_, false) => format!("{builder}.add(offset: __f{at}, at: {at})"),
        });
    }
}
