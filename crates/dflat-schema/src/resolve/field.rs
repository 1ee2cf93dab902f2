//! The fields of structs and tables.

use std::collections::HashMap;

use super::{Draft, Kind, attribute};
use crate::ast::{Declaration, FieldDecl, TypeExpr};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{Default, DefinitionId, Element, Field, FieldType, Span, StructField};

/// A resolved type, and its position.
struct ResolvedType<'a> {
    element: Element,
    form: Form,
    span: &'a Span,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Single,
    Vector,
    Array(i128),
}

impl Draft<'_> {
    pub(super) fn table_fields(
        &mut self,
        id: DefinitionId,
        declared: &[FieldDecl],
        sink: &mut Sink,
    ) -> Vec<Field> {
        let mut fields = Vec::new();
        for (position, field) in declared.iter().enumerate() {
            let ty = self.table_field_type(id, field, sink);
            if ty.is_none() {
                self.poison(id, position);
            }
            let default = match ty {
                Some(ty) => self.table_default(id, field, ty, sink),
                None => Default::Null,
            };
            fields.push(Field {
                name: field.name.text.clone(),
                docs: field.docs.clone(),
                span: field.name.span.clone(),
                voffset: 0,
                ty: ty.unwrap_or(FieldType::Single(Element::Text)),
                default,
                deprecated: attribute::has(&field.attributes, "deprecated"),
                required: attribute::has(&field.attributes, "required"),
                key: attribute::has(&field.attributes, "key"),
                storage: attribute::storage(&field.attributes),
                time: attribute::time(&field.attributes),
            });
        }
        fields
    }

    fn table_field_type(
        &self,
        id: DefinitionId,
        field: &FieldDecl,
        sink: &mut Sink,
    ) -> Option<FieldType> {
        let found = self.found(id, &field.ty, sink)?;
        match found.form {
            Form::Single => Some(FieldType::Single(found.element)),
            Form::Vector => Some(FieldType::Vector(found.element)),
            Form::Array(_) => {
                let message = format!("array `{}` is outside of a struct", field.name.text);
                sink.push(
                    Diagnostic::error(code::ARRAY_OUTSIDE_STRUCT, message)
                        .at(
                            found.span,
                            "fixed-length arrays are allowed only in structs",
                        )
                        .help("use a vector, or wrap the array in a struct"),
                );
                None
            }
        }
    }

    pub(super) fn struct_fields(
        &mut self,
        id: DefinitionId,
        declared: &[FieldDecl],
        sink: &mut Sink,
    ) -> Vec<StructField> {
        let declaration = self.declarations[id.0 as usize];
        if declared.is_empty() && !declaration.broken {
            let message = format!("struct `{}` has no fields", declaration.name.text);
            sink.push(
                Diagnostic::error(code::EMPTY_STRUCT, message)
                    .at(&declaration.name.span, "")
                    .help("give it a field, or make it a table"),
            );
        }
        let mut fields = Vec::new();
        for (position, field) in declared.iter().enumerate() {
            let ty = self.struct_field_type(id, field, sink);
            if ty.is_none() {
                self.poison(id, position);
            }
            let (element, array) = ty.unwrap_or((Element::Scalar(dflat_model::Scalar::U8), None));
            self.report_struct_default(field, element, sink);
            fields.push(StructField {
                name: field.name.text.clone(),
                docs: field.docs.clone(),
                span: field.name.span.clone(),
                offset: 0,
                element,
                array,
                storage: attribute::storage(&field.attributes),
                deprecated: attribute::has(&field.attributes, "deprecated"),
            });
        }
        fields
    }

    fn struct_field_type(
        &self,
        id: DefinitionId,
        field: &FieldDecl,
        sink: &mut Sink,
    ) -> Option<(Element, Option<u16>)> {
        let found = self.found(id, &field.ty, sink)?;
        let fixed = match self.scope.kind_of(found.element) {
            None => found.element != Element::Text,
            Some(kind) => matches!(kind, Kind::Enum | Kind::Struct),
        };
        if !fixed || found.form == Form::Vector {
            let declaration = self.declarations[id.0 as usize];
            let name = &field.name.text;
            let message = format!(
                "field `{name}` of struct `{}` has no fixed size",
                declaration.name.text
            );
            let what = match found.form {
                Form::Vector => "a vector".to_owned(),
                _ => self.scope.describe(found.element),
            };
            let help = if fixed {
                "write a fixed-length array, such as `[float:3]`, or make the struct a table"
            } else {
                "make the struct a table"
            };
            sink.push(
                Diagnostic::error(code::NOT_FIXED_SIZE, message)
                    .at(found.span, format!("{what} varies in size"))
                    .and(&declaration.name.span, "in this struct")
                    .help(help),
            );
            return None;
        }
        let Form::Array(length) = found.form else {
            return Some((found.element, None));
        };
        let Some(length) = u16::try_from(length).ok().filter(|length| *length > 0) else {
            let message = format!("the length of array `{}` is out of range", field.name.text);
            sink.push(
                Diagnostic::error(code::ARRAY_LENGTH, message)
                    .at(found.span, format!("{length} is not in 1 to 65535"))
                    .help("use a length from 1 to 65535"),
            );
            return None;
        };
        Some((found.element, Some(length)))
    }

    fn found<'a>(
        &self,
        id: DefinitionId,
        ty: &'a TypeExpr,
        sink: &mut Sink,
    ) -> Option<ResolvedType<'a>> {
        let (name, form, span) = match ty {
            TypeExpr::Named(name) => (name, Form::Single, &name.span),
            TypeExpr::Vector(name) => (name, Form::Vector, &name.span),
            TypeExpr::Array {
                element,
                length,
                span,
            } => (element, Form::Array(*length), span),
            TypeExpr::Invalid => return None,
        };
        let namespace = &self.declarations[id.0 as usize].namespace;
        let element = self.scope.resolve(namespace, name, sink)?;
        Some(ResolvedType {
            element,
            form,
            span,
        })
    }
}

pub(super) fn report_duplicates(
    kind: &str,
    declaration: &Declaration,
    fields: &[FieldDecl],
    sink: &mut Sink,
) {
    let mut names: HashMap<&str, &Span> = HashMap::new();
    for FieldDecl { name, .. } in fields {
        if let Some(first) = names.get(name.text.as_str()) {
            let owner = &declaration.name.text;
            let message = format!("field `{}` of {kind} `{owner}` is defined twice", name.text);
            sink.push(
                Diagnostic::error(code::DUPLICATE_FIELD, message)
                    .at(&name.span, "defined again here")
                    .and(first, "first defined here")
                    .help("remove or rename one of them"),
            );
        }
        names.entry(&name.text).or_insert(&name.span);
    }
}
