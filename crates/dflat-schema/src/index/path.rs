//! The paths of declared indexes.

use std::borrow::Cow;

use dflat_model::{Field, FieldKind, Scalar, Step};

use super::{STEPS_MAX, value, zero};
use crate::ast::Name;
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::Draft;
use crate::schema::{
    self, Default, DefinitionId, DefinitionKind, Element, FieldType, StructField, UnionMember,
    UnionTarget,
};
use crate::suggest::closest;

/// Resolves the paths of one table.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a> {
    pub(super) draft: &'a Draft<'a>,
    /// The table where the paths start.
    pub(super) root: DefinitionId,
}

/// The value that a path leads to.
pub(super) struct Target {
    pub(super) field: Field,
    /// The type of the value. For a type code, it is the union.
    pub(super) element: Element,
}

/// A resolved part of a path.
struct Part {
    step: Step,
    element: Element,
    default: Default,
}

/// Why a part of a path cannot be resolved.
enum PartError<'a> {
    /// The part of the schema is wrong, which was reported.
    Broken,
    /// The name is unknown; these names exist.
    Unknown(Vec<&'a str>),
    /// The part cannot be in an index, for this reason.
    Refused(&'static str),
}

/// Why a path cannot be resolved.
enum PathError {
    /// The part of the schema is wrong, which was reported.
    Broken,
    Diagnosed(Box<Diagnostic>),
}

impl<'a> Paths<'a> {
    /// Resolves a path, or reports why it cannot be resolved.
    pub(super) fn find(self, path: &Name, sink: &mut Sink) -> Option<Target> {
        match self.follow(path) {
            Ok(target) => Some(target),
            Err(PathError::Broken) => None,
            Err(PathError::Diagnosed(diagnostic)) => {
                sink.push(*diagnostic);
                None
            }
        }
    }

    fn follow(self, path: &Name) -> Result<Target, PathError> {
        let refuse = |message: String, help: &str| {
            let diagnostic = Diagnostic::error(code::INDEX_PATH, message).at(&path.span, "");
            PathError::Diagnosed(Box::new(diagnostic.help(help)))
        };
        let mut steps = Vec::new();
        let mut at = Element::Definition(self.root);
        let mut default = Default::Null;
        for name in path.text.split('.') {
            if steps.len() >= STEPS_MAX {
                let message = format!("a path has at most {STEPS_MAX} steps");
                return Err(refuse(message, "index a field on a shorter path"));
            }
            let part = self.part(at, name, path)?;
            steps.push(part.step);
            (at, default) = (part.element, part.default);
        }
        let (kind, base) = match self.kind(at) {
            Some(kind) => kind,
            None => {
                let found = self.draft.scope.describe(at);
                let message = format!("`{}` cannot be in an index: it is a {found}", path.text);
                let help = "extend the path to a number, an enum, a string or a union";
                return Err(refuse(message.replace("a `", "`"), help));
            }
        };
        let mut name = path.text.clone();
        if let Element::Definition(id) = at
            && matches!(self.definition(id), DefinitionKind::Union(_))
        {
            // The name of the type code in FlatBuffers.
            name.push_str("_type");
            steps.push(Step::Tag);
            default = Default::Integer(0);
        }
        let field = Field {
            name: Cow::Owned(name),
            steps: Cow::Owned(steps),
            kind,
            default: value(&default, base),
        };
        Ok(Target { field, element: at })
    }

    /// The kind of the value at the end of a path, and its scalar type. `None` if the value has no
    /// order.
    fn kind(self, element: Element) -> Option<(FieldKind, Option<Scalar>)> {
        let scalar = match element {
            Element::Scalar(scalar) => scalar,
            Element::Text => return Some((FieldKind::Text, None)),
            Element::Definition(id) => match self.definition(id) {
                DefinitionKind::Enum(found) => found.base,
                DefinitionKind::Union(_) => Scalar::U8,
                DefinitionKind::Struct(_) | DefinitionKind::Table(_) => return None,
            },
        };
        Some((FieldKind::Scalar(scalar), Some(scalar)))
    }

    pub(super) fn definition(self, id: DefinitionId) -> &'a DefinitionKind {
        &self.draft.definitions[id.0 as usize].kind
    }

    /// Resolves a part of a path in the type that the parts before it lead to.
    fn part(self, at: Element, name: &str, path: &Name) -> Result<Part, PathError> {
        let found = match at {
            Element::Definition(id) => self.part_of(id, name),
            Element::Scalar(_) | Element::Text => Err(PartError::Unknown(Vec::new())),
        };
        let of = || self.draft.scope.describe(at);
        let (message, similar) = match found {
            Ok(part) => return Ok(part),
            Err(PartError::Broken) => return Err(PathError::Broken),
            Err(PartError::Unknown(names)) => {
                (format!("{} has no field or member `{name}`", of()), names)
            }
            Err(PartError::Refused(why)) => {
                let message = format!("`{name}` cannot be in an index: it is {why}");
                (message, Vec::new())
            }
        };
        let mut diagnostic = Diagnostic::error(code::INDEX_PATH, message).at(&path.span, "");
        if let Some(near) = closest(name, similar) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        Err(PathError::Diagnosed(Box::new(diagnostic)))
    }

    fn part_of(self, id: DefinitionId, name: &str) -> Result<Part, PartError<'a>> {
        let unknown = |names: Vec<&'a str>| match self.draft.is_broken(id) {
            true => PartError::Broken,
            false => PartError::Unknown(names),
        };
        match self.definition(id) {
            DefinitionKind::Table(table) => {
                let fields = table.fields.iter();
                let Some(at) = fields.clone().position(|field| field.name == name) else {
                    return Err(unknown(fields.map(|field| field.name.as_str()).collect()));
                };
                self.require_resolved(id, at)?;
                table_part(&table.fields[at])
            }
            DefinitionKind::Struct(found) => {
                let fields = found.fields.iter();
                let Some(at) = fields.clone().position(|field| field.name == name) else {
                    return Err(unknown(fields.map(|field| field.name.as_str()).collect()));
                };
                self.require_resolved(id, at)?;
                struct_part(&found.fields[at])
            }
            DefinitionKind::Union(union) => {
                let members = union.members.iter();
                let Some(member) = members.clone().find(|member| member.name == name) else {
                    return Err(unknown(
                        members.map(|member| member.name.as_str()).collect(),
                    ));
                };
                Ok(union_part(member))
            }
            DefinitionKind::Enum(_) => Err(unknown(Vec::new())),
        }
    }

    fn require_resolved(self, id: DefinitionId, position: usize) -> Result<(), PartError<'a>> {
        match self.draft.is_poisoned(id, position) {
            true => Err(PartError::Broken),
            false => Ok(()),
        }
    }
}

fn table_part<'a>(field: &schema::Field) -> Result<Part, PartError<'a>> {
    match field.ty {
        _ if field.deprecated => Err(PartError::Refused("deprecated")),
        FieldType::Vector(_) => Err(PartError::Refused("a vector")),
        FieldType::Single(element) => Ok(Part {
            step: Step::Field(field.voffset),
            element,
            default: field.default.clone(),
        }),
    }
}

fn struct_part<'a>(field: &StructField) -> Result<Part, PartError<'a>> {
    if field.array.is_some() {
        return Err(PartError::Refused("an array"));
    }
    Ok(Part {
        step: Step::Offset(u16::try_from(field.offset).unwrap_or(u16::MAX)),
        element: field.element,
        default: zero(field.element),
    })
}

fn union_part(member: &UnionMember) -> Part {
    Part {
        step: Step::Member(member.code),
        element: match member.target {
            UnionTarget::Definition(id) => Element::Definition(id),
            UnionTarget::Text => Element::Text,
        },
        default: Default::Null,
    }
}
