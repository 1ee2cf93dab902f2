//! The names of types, and their resolution in a file and a namespace.

use std::collections::{BTreeSet, HashMap};

use dflat_model::Scalar;

use crate::ast::{Declaration, DeclarationKind, Name};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::visibility::Visibility;
use crate::schema::{DefinitionId, Element, FileId, Span};
use crate::suggest::closest;

/// The type with this built-in name.
pub(crate) fn builtin(name: &str) -> Option<Element> {
    let scalar = match name {
        "bool" => Scalar::Bool,
        "byte" | "int8" => Scalar::I8,
        "ubyte" | "uint8" => Scalar::U8,
        "short" | "int16" => Scalar::I16,
        "ushort" | "uint16" => Scalar::U16,
        "int" | "int32" => Scalar::I32,
        "uint" | "uint32" => Scalar::U32,
        "long" | "int64" => Scalar::I64,
        "ulong" | "uint64" => Scalar::U64,
        "float" | "float32" => Scalar::F32,
        "double" | "float64" => Scalar::F64,
        "string" => return Some(Element::Text),
        _ => return None,
    };
    Some(Element::Scalar(scalar))
}

const BUILTINS: [&str; 22] = [
    "bool", "byte", "ubyte", "short", "ushort", "int", "uint", "long", "ulong", "float", "double",
    "string", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
    "float64",
];

/// The number of names that are compared with an unknown one.
const CANDIDATES_MAX: usize = 2_000;

/// The kind of a declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Enum,
    Union,
    Struct,
    Table,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Enum => "enum",
            Self::Union => "union",
            Self::Struct => "struct",
            Self::Table => "table",
        }
    }
}

/// All declared names.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    types: HashMap<String, DefinitionId>,
    /// By [`DefinitionId`].
    kinds: Vec<Kind>,
    /// By [`DefinitionId`].
    full_names: Vec<String>,
    /// By [`DefinitionId`]: the position of the name.
    spans: Vec<Span>,
    visibility: Visibility,
    /// The names of `attribute` lines.
    pub(crate) attributes: BTreeSet<String>,
}

impl Scope {
    /// Adds the declarations. Of two with the same name, the first is used.
    pub(crate) fn new(
        declarations: &[&Declaration],
        visibility: Visibility,
        sink: &mut Sink,
    ) -> Self {
        let mut scope = Self {
            visibility,
            ..Self::default()
        };
        for (id, declaration) in (0u32..).zip(declarations) {
            let name = &declaration.name;
            let mut full_name = declaration.namespace.join(".");
            if !full_name.is_empty() {
                full_name.push('.');
            }
            full_name.push_str(&name.text);
            if builtin(&name.text).is_some() {
                let message = format!("`{}` is the name of a built-in type", name.text);
                sink.push(
                    Diagnostic::error(code::RESERVED_NAME, message)
                        .at(&name.span, "")
                        .help("give the type another name"),
                );
            }
            if let Some(first) = scope.types.get(&full_name) {
                let first = &declarations[first.0 as usize].name.span;
                let message = format!("type `{full_name}` is defined twice");
                sink.push(
                    Diagnostic::error(code::DUPLICATE_TYPE, message)
                        .at(&name.span, "defined again here")
                        .and(first, "first defined here")
                        .help("rename one of them, or put it into another namespace"),
                );
            } else {
                scope.types.insert(full_name.clone(), DefinitionId(id));
            }
            scope.full_names.push(full_name);
            scope.spans.push(name.span.clone());
            scope.kinds.push(match declaration.kind {
                DeclarationKind::Enum { .. } => Kind::Enum,
                DeclarationKind::Union { .. } => Kind::Union,
                DeclarationKind::Struct { .. } => Kind::Struct,
                DeclarationKind::Table { .. } => Kind::Table,
            });
        }
        scope
    }

    pub(crate) fn kind(&self, id: DefinitionId) -> Kind {
        self.kinds[id.0 as usize]
    }

    /// The kind of the type, if it is a declared one.
    pub(crate) fn kind_of(&self, element: Element) -> Option<Kind> {
        match element {
            Element::Definition(id) => Some(self.kind(id)),
            Element::Scalar(_) | Element::Text => None,
        }
    }

    /// Describes the type in a message, such as ``struct `Vec3` ``.
    pub(crate) fn describe(&self, element: Element) -> String {
        match element {
            Element::Scalar(scalar) => format!("`{}`", scalar.name()),
            Element::Text => "`string`".to_owned(),
            Element::Definition(id) => {
                format!(
                    "{} `{}`",
                    self.kind(id).name(),
                    self.full_names[id.0 as usize]
                )
            }
        }
    }

    /// Finds a type by its dotted name, in a namespace and those around it, among the types that
    /// the file `from` sees.
    pub(crate) fn find(
        &self,
        from: FileId,
        namespace: &[String],
        path: &str,
    ) -> Option<DefinitionId> {
        self.find_where(namespace, path, |id| {
            self.visibility.sees(from, self.spans[id.0 as usize].file)
        })
    }

    fn find_where(
        &self,
        namespace: &[String],
        path: &str,
        accept: impl Fn(DefinitionId) -> bool,
    ) -> Option<DefinitionId> {
        (0..=namespace.len()).rev().find_map(|depth| {
            let found = match depth {
                0 => self.types.get(path),
                _ => self
                    .types
                    .get(&format!("{}.{path}", namespace[..depth].join("."))),
            };
            found.copied().filter(|id| accept(*id))
        })
    }

    /// Finds a type, or reports that it is unknown.
    pub(crate) fn resolve(
        &self,
        namespace: &[String],
        path: &Name,
        sink: &mut Sink,
    ) -> Option<Element> {
        let found = builtin(&path.text).or_else(|| {
            self.find(path.span.file, namespace, &path.text)
                .map(Element::Definition)
        });
        if found.is_none() {
            let message = format!("type `{}` is not defined", path.text);
            let mut diagnostic = Diagnostic::error(code::UNKNOWN_TYPE, message).at(&path.span, "");
            // The search is slow, and once the sink is full its result would not be shown.
            if !sink.is_full()
                && let Some(hidden) = self.find_where(namespace, &path.text, |_| true)
            {
                // Another requested file, or a file that another one includes, defines the type.
                // This file would not compile alone.
                diagnostic = diagnostic
                    .and(&self.spans[hidden.0 as usize], "defined here")
                    .help("include the file that defines it");
            } else if !sink.is_full()
                && let Some(help) = self.similar(namespace, path)
            {
                diagnostic = diagnostic.help(help);
            }
            sink.push(diagnostic);
        }
        found
    }

    /// A suggestion for an unknown name.
    fn similar(&self, namespace: &[String], path: &Name) -> Option<String> {
        let (from, path) = (path.span.file, path.text.as_str());
        let last = path.rsplit('.').next().unwrap_or(path);
        let ends_so = |name: &&String, end: &str| name.rsplit('.').next() == Some(end);
        // The most frequent mistake is a name of another namespace.
        if let Some(elsewhere) = self.full_names.iter().find(|name| ends_so(name, last)) {
            return Some(format!("did you mean `{elsewhere}`?"));
        }
        let near = self
            .full_names
            .iter()
            .map(|name| name.rsplit('.').next().unwrap_or(name));
        if let Some(similar) = closest(last, near.take(CANDIDATES_MAX).chain(BUILTINS)) {
            // The short name if it resolves, else the full one.
            let shown = match self.full_names.iter().find(|name| ends_so(name, similar)) {
                Some(full) if self.find(from, namespace, similar).is_none() => full,
                _ => similar,
            };
            return Some(format!("did you mean `{shown}`?"));
        }
        let suggestion = match path {
            "str" | "String" | "text" | "varchar" => "string",
            "i8" => "byte",
            "u8" | "char" => "ubyte",
            "i16" => "short",
            "u16" => "ushort",
            "i32" | "integer" => "int",
            "u32" => "uint",
            "i64" => "long",
            "u64" => "ulong",
            "f32" => "float",
            "f64" | "real" => "double",
            _ => return Some("define the type, or include the file that defines it".to_owned()),
        };
        Some(format!("did you mean `{suggestion}`?"))
    }
}
