//! The Rust names of all items in a plan, and the check for equal names.

mod case;

use std::collections::{BTreeMap, BTreeSet};

use dflat_schema::{DefinitionId, Diagnostic, Label, Span};

use crate::diagnostic::{NAME_CLASH, NO_NAME, error_at};
use crate::plan::{Kind, Plan, Type};
use case::{camel, identifier, module, screaming, snake};

/// Methods that an accessor must not hide, and methods whose names clippy reserves for traits.
const RESERVED_METHODS: &[&str] = &[
    "as_ref",
    "borrow",
    "clone",
    "clone_into",
    "cmp",
    "deref",
    "detach",
    "eq",
    "fmt",
    "from_bytes",
    "hash",
    "into",
    "into_iter",
    "ne",
    "neg",
    "new",
    "not",
    "partial_cmp",
    "row_id",
    "to_bytes",
    "to_data",
    "to_owned",
    "try_into",
];

/// The associated constants that generated types have anyway.
const RESERVED_CONSTANTS: &[&str] = &["ALL", "NAMED", "TABLE"];

/// The type parameters of generated code, which hide types with these names.
const PARAMETERS: &[&str] = &["R", "P"];

/// The limit on errors.
const ERRORS_MAX: usize = 200;

/// The names of a plan.
pub(crate) struct Names {
    types: Vec<TypeNames>,
}

struct TypeNames {
    external: Option<String>,
    module: Vec<String>,
    base: String,
    members: Vec<Member>,
}

/// The names of a field, an enum's value or a union's member.
#[derive(Clone)]
pub(crate) struct Member {
    /// A field of a struct, a local variable.
    pub(crate) field: String,
    /// The same without `r#`, for a reader.
    pub(crate) plain: String,
    /// A method.
    pub(crate) method: String,
    /// An associated constant.
    pub(crate) constant: String,
    /// A variant.
    pub(crate) variant: String,
}

impl Member {
    fn new(name: &str) -> Self {
        let snake = snake(name);
        let constant = screaming(name);
        let method = if RESERVED_METHODS.contains(&snake.as_str()) {
            format!("{snake}_")
        } else {
            identifier(snake.clone())
        };
        let reserved = RESERVED_CONSTANTS.contains(&constant.as_str());
        Self {
            field: identifier(snake.clone()),
            plain: snake,
            method,
            constant: constant + if reserved { "_" } else { "" },
            variant: camel(name),
        }
    }
}

impl Names {
    pub(crate) fn of(plan: &Plan<'_>) -> Result<Self, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let types = plan.types.iter().map(|ty| {
            let members = members(ty);
            for (name, span) in &members {
                require_name(name, span, &mut errors);
            }
            require_name(&ty.definition.name, &ty.definition.span, &mut errors);
            // Invariant: the parser bounds the nesting of namespaces, and so of modules.
            for part in &ty.definition.namespace {
                require_name(part, &ty.definition.span, &mut errors);
            }
            TypeNames {
                external: ty.external.map(str::to_owned),
                module: ty
                    .definition
                    .namespace
                    .iter()
                    .map(|part| module(part))
                    .collect(),
                base: camel(&ty.definition.name),
                members: members.iter().map(|(name, _)| Member::new(name)).collect(),
            }
        });
        let names = Self {
            types: types.collect(),
        };
        if errors.is_empty() {
            names.find_clashes(plan, &mut errors);
        }
        if errors.is_empty() {
            Ok(names)
        } else {
            Err(errors)
        }
    }

    /// The modules that hold a type, outermost first.
    pub(crate) fn module(&self, id: DefinitionId) -> &[String] {
        &self.names(id).module
    }

    /// The type's name in its module, to which suffixes are appended.
    pub(crate) fn base(&self, id: DefinitionId) -> &str {
        &self.names(id).base
    }

    /// The names of the type's fields, values or members, in the plan's order.
    pub(crate) fn members(&self, id: DefinitionId) -> &[Member] {
        &self.names(id).members
    }

    /// The path of the type in the module `from`, with `suffix` appended to its name.
    pub(crate) fn path(&self, from: &[String], id: DefinitionId, suffix: &str) -> String {
        let names = self.names(id);
        let name = format!("{}{suffix}", names.base);
        let mut parts: Vec<&str> = Vec::new();
        match &names.external {
            Some(external) => {
                parts.push(external);
                parts.extend(names.module.iter().map(String::as_str));
            }
            None => {
                let same = from.iter().zip(&names.module).take_while(|(a, b)| a == b);
                let common = same.count();
                parts.extend(from[common..].iter().map(|_| "super"));
                parts.extend(names.module[common..].iter().map(String::as_str));
            }
        }
        if parts.is_empty() && PARAMETERS.contains(&name.as_str()) {
            parts.push("self");
        }
        parts.push(&name);
        parts.join("::")
    }

    fn names(&self, id: DefinitionId) -> &TypeNames {
        &self.types[id.0 as usize]
    }

    fn find_clashes(&self, plan: &Plan<'_>, errors: &mut Vec<Diagnostic>) {
        let mut items = Claims::default();
        for (id, ty) in plan.iter().filter(|(_, ty)| ty.external.is_none()) {
            let names = self.names(id);
            let (name, span) = (&ty.definition.name, &ty.definition.span);
            for suffix in suffixes(plan, ty) {
                let item = format!("{}{suffix}", names.base);
                // One error for each type is enough: types with suffixes clash in the same way.
                if !items.claim(&names.module, &item, name, span, errors) {
                    break;
                }
            }
            let mut within = Claims::default();
            for ((name, span), member) in members(ty).iter().zip(&names.members) {
                let taken = match &ty.kind {
                    Kind::Enum(found) if found.bit_flags => &member.constant,
                    Kind::Enum(_) | Kind::Union(_) => &member.variant,
                    Kind::Struct(_) | Kind::Table(_) => &member.plain,
                };
                let free = within.claim(&[], taken, name, span, errors);
                if free && matches!(ty.kind, Kind::Struct(_) | Kind::Table(_)) {
                    within.claim(&[], &member.constant, name, span, errors);
                }
                if free && has_marker(plan, ty, name) {
                    let marker = format!("{}{}", names.base, member.variant);
                    items.claim(&names.module, &marker, name, span, errors);
                }
            }
        }
        self.find_clashes_of_modules(plan, &mut items, errors);
    }

    /// Claims the names of modules. The name of a module equals that of a type only if it has no
    /// letter.
    fn find_clashes_of_modules(
        &self,
        plan: &Plan<'_>,
        items: &mut Claims,
        errors: &mut Vec<Diagnostic>,
    ) {
        let mut known = BTreeSet::new();
        for (id, ty) in plan.iter().filter(|(_, ty)| ty.external.is_none()) {
            let parts = ty.definition.namespace.iter().zip(self.module(id));
            let mut outer = Vec::new();
            for (part, module) in parts {
                let is_new = known.insert((outer.clone(), module.clone()));
                if is_new {
                    items.claim(&outer, module, part, &ty.definition.span, errors);
                }
                outer.push(module.clone());
            }
        }
    }
}

/// Whether a union's member has a type of its own for queries.
fn has_marker(plan: &Plan<'_>, ty: &Type<'_>, name: &str) -> bool {
    match &ty.kind {
        Kind::Union(members) => {
            let mut ambiguous = members.iter().filter(|member| member.ambiguous);
            plan.storage && ambiguous.any(|member| member.source.name == name)
        }
        _ => false,
    }
}

/// The suffixes of the names that a type uses in its module.
fn suffixes(plan: &Plan<'_>, ty: &Type<'_>) -> Vec<&'static str> {
    let mut suffixes = vec![""];
    let view = matches!(ty.kind, Kind::Table(_) | Kind::Union(_));
    if view {
        suffixes.push("Ref");
    }
    if ty.stored.is_some() {
        suffixes.extend(["Data", "ChangeRequest"]);
    }
    let fields = !matches!(ty.kind, Kind::Enum(_)) && (ty.stored.is_none() || ty.nested);
    if plan.storage && fields {
        suffixes.push("Fields");
    }
    suffixes
}

/// The names of a type's members in the schema, with their positions.
fn members<'p>(ty: &'p Type<'_>) -> Vec<(&'p str, &'p Span)> {
    match &ty.kind {
        Kind::Enum(found) => {
            let values = found.values.iter();
            values
                .map(|value| (value.name.as_str(), &value.span))
                .collect()
        }
        Kind::Union(members) => {
            let sources = members.iter().map(|member| member.source);
            sources
                .map(|source| (source.name.as_str(), &source.span))
                .collect()
        }
        Kind::Struct(plan) => {
            let sources = plan.fields.iter().map(|field| field.source);
            sources
                .map(|source| (source.name.as_str(), &source.span))
                .collect()
        }
        Kind::Table(plan) => {
            let sources = plan.fields.iter().map(|field| field.source);
            sources
                .map(|source| (source.name.as_str(), &source.span))
                .collect()
        }
    }
}

fn require_name(name: &str, span: &Span, errors: &mut Vec<Diagnostic>) {
    if snake(name).is_empty() && errors.len() < ERRORS_MAX {
        let message = format!("`{name}` cannot be used in generated code");
        let label = "the name has no letter and no digit".to_owned();
        let mut error = error_at(&NO_NAME, message, span, label);
        error.help = Some("rename it".to_owned());
        errors.push(error);
    }
}

/// The used names, each with the item that uses it.
#[derive(Default)]
struct Claims(BTreeMap<(Vec<String>, String), (String, Span)>);

impl Claims {
    /// Adds a name, or reports that it is used already. Returns whether it was free.
    fn claim(
        &mut self,
        module: &[String],
        generated: &str,
        name: &str,
        span: &Span,
        errors: &mut Vec<Diagnostic>,
    ) -> bool {
        let key = (module.to_vec(), generated.to_owned());
        let Some((first, first_span)) = self.0.get(&key) else {
            self.0.insert(key, (name.to_owned(), span.clone()));
            return true;
        };
        if first_span == span {
            return true;
        }
        if errors.len() >= ERRORS_MAX {
            return false;
        }
        let message = format!("`{first}` and `{name}` both become `{generated}` in generated code");
        let mut clash = error_at(
            &NAME_CLASH,
            message,
            span,
            "second item with this name".to_owned(),
        );
        clash.secondary.push(Label {
            span: first_span.clone(),
            text: "first item with this name".to_owned(),
        });
        clash.help = Some("rename one of the two".to_owned());
        errors.push(clash);
        false
    }
}
