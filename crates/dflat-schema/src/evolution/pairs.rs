//! Pairs the types of the old version with those of the new version.

use std::collections::{BTreeSet, HashSet, VecDeque};

use super::code::{ADDED, KEY_CHANGED, RENAMED, TABLE_GONE, TABLE_RENAMED, TYPE_REMOVED};
use super::{Comparison, kind_name};
use crate::diagnostic::Diagnostic;
use crate::schema::{
    Definition, DefinitionId, DefinitionKind, Element, Field, Schema, Span, Table, UnionTarget,
};

/// The pairs of types found so far, and those whose contents are not compared yet.
#[derive(Default)]
pub(super) struct Pairs {
    found: HashSet<(DefinitionId, DefinitionId)>,
    open: VecDeque<(DefinitionId, DefinitionId)>,
    old: HashSet<DefinitionId>,
    new: HashSet<DefinitionId>,
}

impl Pairs {
    fn add(&mut self, old: DefinitionId, new: DefinitionId) {
        if self.found.insert((old, new)) {
            self.old.insert(old);
            self.new.insert(new);
            self.open.push_back((old, new));
        }
    }
}

impl<'a> Comparison<'a> {
    /// Compares the stored tables and all types that they reach.
    pub(super) fn roots(&mut self) {
        let (old, new) = (roots(self.old), roots(self.new));
        let mut unpaired_new: BTreeSet<DefinitionId> = new.iter().copied().collect();
        let mut unpaired_old = Vec::new();
        for id in old {
            let name = self.old.definition(id).storage_name();
            let same = |new: &&DefinitionId| self.new.definition(**new).storage_name() == name;
            match unpaired_new.iter().find(same).copied() {
                Some(found) => {
                    unpaired_new.remove(&found);
                    self.pairs.add(id, found);
                    self.key(id, found);
                }
                None => unpaired_old.push(id),
            }
        }
        self.follow();
        for id in unpaired_old {
            let successor = self.successor(id, &unpaired_new);
            self.removed_root(id, successor);
            if let Some(successor) = successor {
                unpaired_new.remove(&successor);
                self.pairs.new.extend(reached(self.new, successor));
            }
            // Types that only the objects of this table hold may change in any way.
            self.pairs.old.extend(reached(self.old, id));
        }
    }

    /// Compares types that no stored table reaches, by their names.
    pub(super) fn rest(&mut self) {
        for id in ids(self.old) {
            let definition = self.old.definition(id);
            if self.pairs.old.contains(&id) {
                continue;
            }
            match self.named(&definition.full_name()) {
                Some(new) => self.pairs.add(id, new),
                None => {
                    let (kind, name) = (kind_name(&definition.kind), definition.full_name());
                    let message = format!("the {kind} `{name}` was removed");
                    let change = Diagnostic::note(TYPE_REMOVED, message);
                    self.sink
                        .push(change.at(&definition.span, "the new version does not have this"));
                }
            }
        }
        self.follow();
        let old: HashSet<String> = self
            .old
            .definitions
            .iter()
            .map(Definition::full_name)
            .collect();
        for id in ids(self.new) {
            let definition = self.new.definition(id);
            let name = definition.full_name();
            if !self.pairs.new.contains(&id) && !old.contains(&name) {
                let kind = kind_name(&definition.kind);
                let change = Diagnostic::note(ADDED, format!("the {kind} `{name}` is new"));
                self.report(change, &definition.span, "");
            }
        }
    }

    fn follow(&mut self) {
        while let Some((old, new)) = self.pairs.open.pop_front() {
            let (old, new) = (self.old.definition(old), self.new.definition(new));
            if old.full_name() != new.full_name() {
                let (was, is) = (old.full_name(), new.full_name());
                self.renamed(kind_name(&new.kind), &was, &old.span, &is, &new.span);
            }
            match (&old.kind, &new.kind) {
                (DefinitionKind::Table(old), DefinitionKind::Table(new)) => self.tables(old, new),
                (DefinitionKind::Struct(before), DefinitionKind::Struct(after)) => {
                    self.structs(before, after, &old.span, &new.span);
                }
                (DefinitionKind::Union(old), DefinitionKind::Union(new)) => self.unions(old, new),
                (DefinitionKind::Enum(before), DefinitionKind::Enum(after)) => {
                    self.enums(before, after, &old.span, &new.span);
                }
                // The types differ in kind. This happens only to types that no field refers to in
                // both versions, so they are separate types.
                _ => {}
            }
        }
    }

    /// Whether two types can be the same type in both versions. If so, their contents are compared.
    pub(super) fn pair(&mut self, old: DefinitionId, new: DefinitionId) -> bool {
        let (before, after) = (self.old.definition(old), self.new.definition(new));
        let same_kind = kind_name(&before.kind) == kind_name(&after.kind);
        // If the new version has a type with the old name, the old type was not renamed.
        let other =
            before.full_name() != after.full_name() && self.named(&before.full_name()).is_some();
        if same_kind && !other {
            self.pairs.add(old, new);
        }
        same_kind && !other
    }

    /// Whether two elements have the same type.
    pub(super) fn same_element(&mut self, old: Element, new: Element) -> bool {
        match (old, new) {
            (Element::Definition(old), Element::Definition(new)) => self.pair(old, new),
            (old, new) => old == new,
        }
    }

    pub(super) fn same_target(&mut self, old: UnionTarget, new: UnionTarget) -> bool {
        match (old, new) {
            (UnionTarget::Definition(old), UnionTarget::Definition(new)) => self.pair(old, new),
            (old, new) => old == new,
        }
    }

    pub(super) fn renamed(
        &mut self,
        kind: &str,
        old: &str,
        before: &Span,
        new: &str,
        after: &Span,
    ) {
        let message = format!("the {kind} `{old}` was renamed to `{new}`");
        let change = Diagnostic::note(RENAMED, message).and(before, "this is the old name");
        self.report(change, after, "");
    }

    /// The type with this name in the new version.
    fn named(&self, name: &str) -> Option<DefinitionId> {
        ids(self.new).find(|id| self.new.definition(*id).full_name() == name)
    }

    /// Compares the primary keys of two versions of a stored table.
    fn key(&mut self, old: DefinitionId, new: DefinitionId) {
        let (before, after) = (self.old.definition(old), self.new.definition(new));
        let (Some(old), Some(new)) = (primary(before), primary(after)) else {
            return;
        };
        if let ([old], [new]) = (&*old, &*new) {
            self.auto_keys(old, new);
        }
        let numbers =
            |fields: &[&Field]| -> Vec<u16> { fields.iter().map(|field| field.voffset).collect() };
        // If the same fields have other numbers, the comparison of the fields reports the cause.
        let names = |fields: &[&Field]| -> Vec<String> {
            fields.iter().map(|field| field.name.clone()).collect()
        };
        if numbers(&old) == numbers(&new) || names(&old) == names(&new) {
            return;
        }
        let name = after.full_name();
        let message = format!("the primary key of `{name}` changed");
        let mut change = Diagnostic::error(KEY_CHANGED, message).help(format!(
            "give the table a new version, `table {} (v: \"2\")`, and copy the objects",
            after.name
        ));
        for field in old {
            change = change.and(&field.span, "part of the old key");
        }
        for field in &new {
            change = change.and(&self.joined_span(&field.span), "part of the new key");
        }
        self.report(change, &after.span, "");
    }

    /// Finds the stored table of the new version that replaces a table under another name: the
    /// first with the same full name, else with the same name, else with similar fields.
    fn successor(&self, old: DefinitionId, new: &BTreeSet<DefinitionId>) -> Option<DefinitionId> {
        let before = self.old.definition(old);
        let find = |test: &dyn Fn(&Definition) -> bool| {
            let mut found = new.iter().copied();
            found.find(|id| test(self.new.definition(*id)))
        };
        find(&|after| after.full_name() == before.full_name())
            .or_else(|| find(&|after| after.name == before.name))
            .or_else(|| find(&|after| alike(before, after)))
    }

    /// Reports a stored table whose name in the file the new version does not have.
    fn removed_root(&mut self, old: DefinitionId, successor: Option<DefinitionId>) {
        let before = self.old.definition(old);
        let stored = before.storage_name().unwrap_or_default();
        let name = before.full_name();
        let Some(successor) = successor else {
            let message = format!("`{name}` is no longer stored");
            let change = Diagnostic::warning(TABLE_GONE, message)
                .at(&before.span, "this was a `root_type`")
                .help(format!(
                    "its objects stay in the table `{stored}` of the file, and are not read"
                ));
            self.sink.push(change);
            return;
        };
        let after = self.new.definition(successor);
        let now = after.storage_name().unwrap_or_default();
        let message = format!(
            "`{}` is now stored as `{now}`, which starts empty",
            after.full_name()
        );
        let change = Diagnostic::warning(TABLE_RENAMED, message)
            .and(
                &before.span,
                format!("its objects are in the table `{stored}`"),
            )
            .help("a program that has both versions copies the objects with `copy_table`");
        self.report(change, &after.span, "");
    }
}

/// Whether the tables share the names of at least half of the fields of the larger one.
fn alike(old: &Definition, new: &Definition) -> bool {
    let (DefinitionKind::Table(old), DefinitionKind::Table(new)) = (&old.kind, &new.kind) else {
        return false;
    };
    let named = |table: &Table, name: &str| table.fields.iter().any(|field| field.name == name);
    let common = old
        .fields
        .iter()
        .filter(|field| named(new, &field.name))
        .count();
    common > 0 && common * 2 >= old.fields.len().max(new.fields.len())
}

fn primary(definition: &Definition) -> Option<Vec<&Field>> {
    match &definition.kind {
        DefinitionKind::Table(table) => {
            let fields = table.fields.iter();
            Some(fields.filter(|field| field.storage.primary).collect())
        }
        _ => None,
    }
}

fn ids(schema: &Schema) -> impl Iterator<Item = DefinitionId> + use<> {
    (0..schema.definitions.len()).map(|index| DefinitionId(index as u32))
}

fn roots(schema: &Schema) -> Vec<DefinitionId> {
    let is_root = |id: &DefinitionId| match &schema.definition(*id).kind {
        DefinitionKind::Table(table) => table.root,
        _ => false,
    };
    ids(schema).filter(is_root).collect()
}

/// A type and all types that its values can hold.
fn reached(schema: &Schema, root: DefinitionId) -> HashSet<DefinitionId> {
    let mut reached = HashSet::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if !reached.insert(id) {
            continue;
        }
        let mut element = |element| {
            if let Element::Definition(id) = element {
                open.push(id);
            }
        };
        match &schema.definition(id).kind {
            DefinitionKind::Table(table) => {
                table
                    .fields
                    .iter()
                    .for_each(|field| element(field.ty.element()));
            }
            DefinitionKind::Struct(found) => {
                found.fields.iter().for_each(|field| element(field.element));
            }
            DefinitionKind::Union(union) => {
                for member in &union.members {
                    if let UnionTarget::Definition(id) = member.target {
                        element(Element::Definition(id));
                    }
                }
            }
            DefinitionKind::Enum(_) => {}
        }
    }
    reached
}
