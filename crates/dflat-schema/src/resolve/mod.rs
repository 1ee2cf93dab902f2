//! Resolves the names of syntax trees, and makes a draft of the schema.
//!
//! The draft has one [`Definition`] for each declaration, and one field, value or member for each
//! parsed one, at the same position. So later stages find the attributes as written. A field that
//! could not be resolved is *poisoned*: the draft has it with an arbitrary type, and no rule is
//! applied to it. Offsets and sizes are 0 until `layout` assigns them.

pub(crate) mod attribute;
mod default;
mod enumeration;
mod field;
mod include;
pub(crate) mod known;
mod scope;
mod union;
mod visibility;

use std::collections::HashSet;

pub(crate) use include::{Units, read};
pub(crate) use scope::{Kind, Scope};
use visibility::Visibility;

use crate::ast::{Declaration, DeclarationKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{
    Definition, DefinitionId, DefinitionKind, Enum, FileId, SourceFile, Struct, Table,
};
use crate::source::Sources;

/// The limit on types. A type id has 16 bits.
const DEFINITIONS_MAX: usize = 65_535;

/// A schema that may still have errors, with its syntax trees.
pub(crate) struct Draft<'a> {
    pub(crate) definitions: Vec<Definition>,
    /// The declarations, by [`DefinitionId`].
    pub(crate) declarations: Vec<&'a Declaration>,
    pub(crate) scope: Scope,
    /// Fields that could not be resolved.
    poisoned: HashSet<(DefinitionId, usize)>,
    /// Definitions with a part that could not be parsed or resolved.
    broken: HashSet<DefinitionId>,
}

impl Draft<'_> {
    pub(crate) fn ids(&self) -> impl Iterator<Item = DefinitionId> + use<> {
        (0..u32::try_from(self.definitions.len()).unwrap_or(u32::MAX)).map(DefinitionId)
    }

    /// The enum, if the type is one.
    pub(crate) fn enumeration(&self, id: DefinitionId) -> Option<&Enum> {
        match &self.definitions[id.0 as usize].kind {
            DefinitionKind::Enum(found) => Some(found),
            _ => None,
        }
    }

    /// Whether a part of the definition could not be resolved. Its fields must then not be counted.
    pub(crate) fn is_broken(&self, id: DefinitionId) -> bool {
        self.declarations[id.0 as usize].broken || self.broken.contains(&id)
    }

    /// Whether the type of a field could not be resolved. No rule must then be applied to the
    /// field.
    pub(crate) fn is_poisoned(&self, id: DefinitionId, position: usize) -> bool {
        self.poisoned.contains(&(id, position))
    }

    fn poison(&mut self, id: DefinitionId, position: usize) {
        self.poisoned.insert((id, position));
        self.broken.insert(id);
    }
}

/// Resolves all names.
pub(crate) fn resolve<'a>(units: &'a Units, sink: &mut Sink) -> Draft<'a> {
    let files = units.order.iter().map(|file| &units.units[file.0 as usize]);
    let mut declarations: Vec<&Declaration> = files
        .clone()
        .flat_map(|unit| &unit.ast.declarations)
        .collect();
    if let Some(beyond) = declarations.get(DEFINITIONS_MAX) {
        let message = format!("the schema has more than {DEFINITIONS_MAX} types");
        sink.push(Diagnostic::error(code::LIMIT, message).at(&beyond.name.span, ""));
        declarations.truncate(DEFINITIONS_MAX);
    }
    let mut scope = Scope::new(&declarations, Visibility::of(units), sink);
    scope.attributes = files
        .flat_map(|unit| &unit.ast.attributes)
        .map(|name| name.text.clone())
        .collect();
    let definitions = declarations
        .iter()
        .map(|declaration| outline(declaration))
        .collect();
    let mut draft = Draft {
        definitions,
        declarations,
        scope,
        poisoned: HashSet::new(),
        broken: HashSet::new(),
    };
    // Order: the defaults of fields need the values of enums, which may be declared after the
    // fields.
    for id in draft.ids() {
        draft.enumerate(id, sink);
    }
    for id in draft.ids() {
        draft.fill(id, sink);
    }
    draft
}

impl Draft<'_> {
    fn enumerate(&mut self, id: DefinitionId, sink: &mut Sink) {
        let declaration = self.declarations[id.0 as usize];
        if let DeclarationKind::Enum { base, values } = &declaration.kind {
            let found = enumeration::resolve(declaration, base.as_ref(), values, sink);
            if !found.bit_flags
                && known::misspells(&self.scope, &declaration.attributes, "bit_flags")
            {
                self.broken.insert(id);
            }
            self.definitions[id.0 as usize].kind = DefinitionKind::Enum(found);
        }
    }

    fn fill(&mut self, id: DefinitionId, sink: &mut Sink) {
        let declaration = self.declarations[id.0 as usize];
        let kind = match &declaration.kind {
            DeclarationKind::Enum { .. } => return,
            DeclarationKind::Union { members } => {
                DefinitionKind::Union(union::resolve(&self.scope, declaration, members, sink))
            }
            DeclarationKind::Struct { fields } => {
                field::report_duplicates("struct", declaration, fields, sink);
                let fields = self.struct_fields(id, fields, sink);
                DefinitionKind::Struct(Struct {
                    size: 0,
                    align: 1,
                    fields,
                    uuid: attribute::has(&declaration.attributes, "uuid"),
                })
            }
            DeclarationKind::Table { fields } => {
                field::report_duplicates("table", declaration, fields, sink);
                let fields = self.table_fields(id, fields, sink);
                let version = attribute::text(&declaration.attributes, "v").map(str::to_owned);
                DefinitionKind::Table(Table {
                    fields,
                    version,
                    root: attribute::has(&declaration.attributes, "stored"),
                    indexes: Vec::new(),
                })
            }
        };
        self.definitions[id.0 as usize].kind = kind;
    }
}

/// The definition without its contents.
fn outline(declaration: &Declaration) -> Definition {
    let kind = DefinitionKind::Table(Table {
        fields: Vec::new(),
        version: None,
        root: false,
        indexes: Vec::new(),
    });
    Definition {
        name: declaration.name.text.clone(),
        namespace: declaration.namespace.clone(),
        docs: declaration.docs.clone(),
        span: declaration.name.span.clone(),
        kind,
    }
}

/// Lists the files, and marks the tables that they name as `root_type`.
pub(crate) fn files(
    units: &Units,
    draft: &mut Draft<'_>,
    sources: &Sources,
    sink: &mut Sink,
) -> Vec<SourceFile> {
    let mut files = Vec::new();
    for (file, unit) in (0u32..).map(FileId).zip(&units.units) {
        let text = |names: &[crate::ast::Name]| names.last().map(|name| name.text.clone());
        files.push(SourceFile {
            path: sources.path(file).to_owned(),
            requested: unit.requested,
            includes: unit.includes.clone(),
            file_identifier: text(&unit.ast.identifiers),
            file_extension: text(&unit.ast.extensions),
            root: root(unit, draft, sink),
        });
        for identifier in unit
            .ast
            .identifiers
            .iter()
            .filter(|name| name.text.len() != 4)
        {
            let message = format!(
                "the file identifier {:?} is not four bytes long",
                identifier.text
            );
            sink.push(
                Diagnostic::error(code::FILE_IDENTIFIER, message)
                    .at(&identifier.span, format!("{} bytes", identifier.text.len()))
                    .help("use exactly four ASCII characters"),
            );
        }
    }
    files
}

fn root(unit: &include::Unit, draft: &mut Draft<'_>, sink: &mut Sink) -> Option<DefinitionId> {
    let first = unit.ast.roots.first()?;
    for other in &unit.ast.roots[1..] {
        sink.push(
            Diagnostic::error(code::SEVERAL_ROOTS, "a file has one root type")
                .at(&other.path.span, "second root type")
                .and(&first.path.span, "first root type")
                .help("mark the other table instead: `table Name (stored) { .. }`"),
        );
    }
    let element = draft.scope.resolve(&first.namespace, &first.path, sink)?;
    if let crate::schema::Element::Definition(id) = element
        && let DefinitionKind::Table(table) = &mut draft.definitions[id.0 as usize].kind
    {
        table.root = true;
        return Some(id);
    }
    let message = format!("{} cannot be a root type", draft.scope.describe(element));
    sink.push(
        Diagnostic::error(code::ROOT_NOT_TABLE, message)
            .at(&first.path.span, "not a table")
            .help("wrap it in a table"),
    );
    None
}
