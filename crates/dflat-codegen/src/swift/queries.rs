//! The typed fields of stored types, and the members of their unions.

use dflat_model::{Field, FieldKind, Scalar, Step, TableDescriptor, Value as Constant};
use dflat_schema::{Default as FieldDefault, DefinitionId};

use super::text::Text;
use super::values::{float, kind, string};
use super::{Scope, names};
use crate::plan::{FieldPlan, Item, Kind, MemberPlan, StructPlan, TablePlan, Value};

/// The way from an object to a value inside it.
#[derive(Clone, Default)]
pub(super) struct Way {
    /// The names in the schema.
    pub(super) names: Vec<String>,
    /// The Swift type that has the fields.
    pub(super) fields: String,
    pub(super) steps: Vec<Step>,
    /// The statements that lead from the payload and from the object to the container of the value.
    pub(super) payload: Vec<String>,
    pub(super) object: Vec<String>,
    /// The tables that contain the value.
    pub(super) tables: Vec<DefinitionId>,
}

/// A field that conditions compare.
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) ty: String,
    pub(super) step: Step,
    pub(super) kind: FieldKind,
    pub(super) absent: Constant,
    /// The code that reads the field of a payload's table and of an object.
    pub(super) payload: String,
    pub(super) object: String,
    /// The number of the primary key's part.
    pub(super) key: Option<usize>,
}

impl Way {
    fn then(&self, name: &str, step: Step, payload: String, object: String) -> Self {
        let mut way = self.clone();
        way.fields = format!(
            "{}.{}",
            way.fields,
            names::query(&names::escaped(&names::field(name)))
        );
        way.names.push(name.to_owned());
        way.steps.push(step);
        way.payload.push(payload);
        way.object.push(object);
        way
    }
}

impl Scope<'_> {
    pub(super) fn queries(self, plan: &TablePlan<'_>, stored: &TableDescriptor, text: &mut Text) {
        let way = Way {
            tables: vec![self.id],
            fields: self.path(),
            ..Way::default()
        };
        let mut unions = Vec::new();
        text.item(format!("extension {}", self.path()), |text| {
            self.table_fields(plan, &way, stored, &mut unions, text);
        });
        for (protocol, members, way) in unions {
            self.members(&protocol, members, &way, stored, text);
        }
    }

    /// Prints the fields of a table. Unions are added to `unions`, because their members are
    /// outside of the type.
    pub(super) fn table_fields<'s>(
        self,
        plan: &TablePlan<'s>,
        way: &Way,
        stored: &TableDescriptor,
        unions: &mut Vec<(String, &'s [MemberPlan<'s>], Way)>,
        text: &mut Text,
    ) where
        Self: 's,
    {
        let mut keys = 0;
        for field in &plan.fields {
            let name = self.field_name(field);
            let step = Step::Field(field.source.voffset);
            let at = field.source.voffset;
            let source = &field.source.name;
            let key = (field.source.storage.primary && way.steps.is_empty()).then_some(keys);
            keys += usize::from(key.is_some());
            let object = format!("guard let ¶ = §.{name} else {{ return nil }}");
            match field.value {
                Value::Scalar { .. }
                | Value::Enum { .. }
                | Value::Time { .. }
                | Value::Text { .. } => {
                    let compared = self.compared(field, key);
                    self.field(&compared, source, way, stored, text);
                }
                Value::Struct(id) => {
                    let payload = format!("guard let ¶ = §.structure({at}) else {{ return nil }}");
                    let inner = way.then(source, step, payload, object);
                    self.nested_struct(&name, id, &inner, stored, text);
                }
                Value::Table { id, .. } => {
                    let Kind::Table(plan) = &self.plan.ty(id).kind else {
                        continue;
                    };
                    if way.tables.contains(&id) {
                        continue;
                    }
                    let payload = format!("guard let ¶ = §.table({at}) else {{ return nil }}");
                    let mut inner = way.then(source, step, payload, object);
                    inner.tables.push(id);
                    text.block(format!("public struct {}", names::query(&name)), |text| {
                        self.table_fields(plan, &inner, stored, unions, text);
                    });
                }
                Value::Union(id) => self.union_field(field, id, way, stored, unions, text),
                Value::Vector(_) => {}
            }
        }
    }

    fn compared(self, field: &FieldPlan<'_>, key: Option<usize>) -> Compared {
        let name = self.field_name(field);
        let kind = match field.value {
            Value::Text { .. } => FieldKind::Text,
            Value::Enum { id, .. } => FieldKind::Scalar(self.enum_base(id)),
            Value::Scalar { scalar, .. } => FieldKind::Scalar(scalar),
            _ => FieldKind::Scalar(Scalar::I64),
        };
        Compared {
            ty: self.plain_type(field),
            step: Step::Field(field.source.voffset),
            kind,
            absent: constant(&field.source.default, kind),
            payload: self.read(field, "§"),
            object: format!("§.{name}"),
            name,
            key,
        }
    }

    /// Prints one field.
    pub(super) fn field(
        self,
        compared: &Compared,
        source: &str,
        way: &Way,
        stored: &TableDescriptor,
        text: &mut Text,
    ) {
        let mut steps = way.steps.clone();
        steps.push(compared.step);
        let found = Field {
            name: "".into(),
            steps: steps.clone().into(),
            kind: compared.kind,
            default: compared.absent.clone(),
        };
        let column = match compared.key {
            Some(number) => format!("__pk{number}"),
            None => found.storage_key(),
        };
        let indexed = stored
            .indexes
            .iter()
            .any(|index| index.fields.len() == 1 && *index.fields[0].steps == *steps);
        let (object, ty, name) = (self.path(), &compared.ty, names::query(&compared.name));
        let path = way.names.iter().map(String::as_str).chain([source]);
        let path = path.collect::<Vec<_>>().join(".");
        text.line(format!(
            "public static let {name} = FieldExpr<{ty}, {object}>("
        ));
        text.indented(|text| {
            text.line(format!(
                "name: \"{column}\", primaryKey: {}, hasIndex: {indexed},",
                compared.key.is_some()
            ));
            text.line("tableReader: { t in");
            text.indented(|text| {
                text.line("let t0 = _PayloadReader(table: t)");
                statements("t", &way.payload, &compared.payload, text);
            });
            text.line("},");
            text.line("objectReader: { o0 in");
            text.indented(|text| statements("o", &way.object, &compared.object, text));
            text.line("},");
            text.line("path: _FieldPath(");
            text.indented(|text| {
                text.line(format!("{}, {},", string(&path), steps_text(&steps)));
                let kind = match compared.kind {
                    FieldKind::Text => ".string".to_owned(),
                    FieldKind::Scalar(scalar) => kind(scalar),
                };
                text.line(format!(
                    "{kind}, absent: {}))",
                    constant_text(&compared.absent)
                ));
            });
        });
    }

    fn nested_struct(
        self,
        name: &str,
        id: DefinitionId,
        way: &Way,
        stored: &TableDescriptor,
        text: &mut Text,
    ) {
        let Kind::Struct(plan) = &self.plan.ty(id).kind else {
            return;
        };
        text.block(format!("public struct {}", names::query(name)), |text| {
            self.struct_fields(plan, way, stored, text);
        });
    }

    pub(super) fn struct_fields(
        self,
        plan: &StructPlan<'_>,
        way: &Way,
        stored: &TableDescriptor,
        text: &mut Text,
    ) {
        for field in &plan.fields {
            if field.source.array.is_some() {
                continue;
            }
            let name = names::escaped(&names::field(&field.source.name));
            let offset = field.source.offset;
            let step = Step::Offset(u16::try_from(offset).unwrap_or(u16::MAX));
            let scalar = match field.item {
                Item::Struct(id) => {
                    let payload = format!("let ¶ = §.inner({offset})");
                    let inner = way.then(
                        &field.source.name,
                        step,
                        payload,
                        format!("let ¶ = §.{name}"),
                    );
                    self.nested_struct(&name, id, &inner, stored, text);
                    continue;
                }
                Item::Enum(id) => self.enum_base(id),
                Item::Scalar(scalar) => scalar,
                _ => continue,
            };
            let compared = Compared {
                ty: self.item_type(field.item),
                step,
                kind: FieldKind::Scalar(scalar),
                absent: if scalar.is_float() {
                    Constant::Float(0.0)
                } else {
                    Constant::Int(0)
                },
                payload: self.read_part(field, "§"),
                object: format!("§.{name}"),
                name,
                key: None,
            };
            self.field(&compared, &field.source.name, way, stored, text);
        }
    }
}

/// Prints the statements that lead to a value, and the value. In each, a section sign stands for
/// the place before it, and a pilcrow for the place that it leads to.
fn statements(letter: &str, way: &[String], value: &str, text: &mut Text) {
    for (position, statement) in way.iter().enumerate() {
        let next = format!("{letter}{}", position + 1);
        let before = format!("{letter}{position}");
        text.line(statement.replace('¶', &next).replace('§', &before));
    }
    let last = format!("{letter}{}", way.len());
    text.line(format!("return {}", value.replace('§', &last)));
}

fn constant(default: &FieldDefault, kind: FieldKind) -> Constant {
    match (default, kind) {
        (FieldDefault::Integer(value), FieldKind::Scalar(scalar)) if scalar.is_float() => {
            Constant::Float(*value as f64)
        }
        (FieldDefault::Integer(value), _) => match i64::try_from(*value) {
            Ok(value) => Constant::Int(value),
            Err(_) => Constant::UInt(u64::try_from(*value).unwrap_or(u64::MAX)),
        },
        (FieldDefault::Float(value), _) => Constant::Float(*value),
        (FieldDefault::Text(text), _) => Constant::Text(text.clone().into()),
        (FieldDefault::Null | FieldDefault::EmptyVector, _) => Constant::Null,
    }
}

fn constant_text(constant: &Constant) -> String {
    match constant {
        Constant::Null => ".null".to_owned(),
        Constant::Int(value) => format!(".integer({value})"),
        Constant::UInt(value) => format!(".unsigned({value})"),
        Constant::Float(value) if value.is_nan() => ".null".to_owned(),
        Constant::Float(value) => format!(".number({})", float(*value)),
        Constant::Text(text) => format!(".string({})", string(text)),
    }
}

fn steps_text(steps: &[Step]) -> String {
    let steps = steps.iter().map(|step| match step {
        Step::Field(at) => format!(".field({at})"),
        Step::Offset(at) => format!(".offset({at})"),
        Step::Member(code) => format!(".member({code})"),
        Step::Tag => ".tag".to_owned(),
    });
    format!("[{}]", steps.collect::<Vec<_>>().join(", "))
}
