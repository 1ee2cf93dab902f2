//! A schema that changes: random edits of its text and of its declared indexes.

use std::fmt;

use dflat_model::{Field, IndexDescriptor, Table};

use super::declared;
use super::text::LEAVES;
use super::tree::Types;
use crate::random::Random;

/// The schema of one version of a program.
#[derive(Clone)]
pub(super) struct Version {
    text: String,
    declared: Vec<IndexDescriptor>,
    /// A number that changes when a field is added or removed: objects of versions with the same
    /// number have the same fields.
    pub(super) shape: usize,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for index in &self.declared {
            writeln!(f, "unique: {}, {index}", index.unique)?;
        }
        Ok(())
    }
}

/// The change of the fields of an object between two versions.
pub(super) enum Fields {
    Same,
    /// A field was appended.
    Appended,
    /// The field at this position was removed.
    Gone(usize),
}

impl Version {
    pub(super) fn new(text: String, random: &mut Random) -> Self {
        let mut version = Self {
            text,
            declared: Vec::new(),
            shape: 0,
        };
        version.declared = declared::indexes(&version.paths(), random);
        version
    }

    pub(super) fn table(&self) -> Table {
        let mut table = (*super::table(&self.text)).clone();
        table.indexes.to_mut().extend(self.declared.iter().cloned());
        Table::new(table)
    }

    fn paths(&self) -> Vec<Field> {
        Types(&super::table(&self.text).types).paths()
    }

    /// The next version, with one to three changes.
    pub(super) fn next(&self, random: &mut Random) -> (Self, Vec<Fields>) {
        let mut next = self.clone();
        let changes = 1 + random.below(3);
        let fields = (0..changes).map(|_| next.change(random)).collect();
        // Fields of a declared index may now have another name or default, or be removed.
        let paths = next.paths();
        let current = |field: &Field| paths.iter().find(|path| path.steps == field.steps);
        next.declared.retain(|index| {
            let mut is_known = index.fields.iter().all(|field| current(field).is_some());
            if let Some(condition) = &index.condition {
                is_known &= !condition.mentions(&|field| current(field).is_none());
            }
            is_known
        });
        for index in &mut next.declared {
            for field in index.fields.to_mut() {
                *field = current(field).unwrap().clone();
            }
            if let Some(condition) = &mut index.condition {
                declared::each_field(condition, &mut |field| {
                    *field = current(field).unwrap().clone();
                });
            }
        }
        let mut keys: Vec<String> = Vec::new();
        next.declared.retain(|index| {
            let key = index.storage_key();
            let is_new = !keys.contains(&key);
            keys.push(key);
            is_new
        });
        (next, fields)
    }

    fn change(&mut self, random: &mut Random) -> Fields {
        match random.below(9) {
            0 | 1 => self.edit(random, |line, random| {
                *line.attribute = (*random.pick(&["", "indexed", "indexed", "unique"])).to_owned();
            }),
            2 | 3 => self.edit(random, |line, random| {
                let known = LEAVES.iter().find(|(ty, _)| *ty == line.ty);
                let (Some((_, default)), false) = (known, line.is_of_struct) else {
                    return;
                };
                *line.default = match random.below(3) {
                    0 if line.ty == "Kind" => "Zero".to_owned(),
                    0 => String::new(),
                    1 if line.ty != "string" => "null".to_owned(),
                    _ => (*default).to_owned(),
                };
            }),
            4 => self.edit(random, |line, _| line.name.push('r')),
            5 => {
                self.shape += 1;
                let (ty, default) = *random.pick(&LEAVES);
                let at = self.text.find("}\nroot_type").unwrap();
                let line = format!("  n{}: {ty} = {default} (indexed);\n", self.shape);
                self.text.insert_str(at, &line);
                return Fields::Appended;
            }
            6 => return self.deprecate(random),
            _ => self.declare(random),
        }
        Fields::Same
    }

    /// Declares another index, or changes a declared index.
    fn declare(&mut self, random: &mut Random) {
        let paths = self.paths();
        if self.declared.is_empty() || random.one_in(3) {
            self.declared.extend(declared::indexes(&paths, random));
            return;
        }
        let place = random.below(self.declared.len());
        let index = &mut self.declared[place];
        match random.below(5) {
            0 => drop(self.declared.remove(place)),
            1 => index.unique = !index.unique,
            2 => index.fields.to_mut().reverse(),
            3 if index.fields.len() > 1 => index.condition = None,
            _ => {
                index.condition = Some(declared::condition(&index.fields, &paths, 2, random));
            }
        }
    }

    /// Deprecates a field of the root that is not part of the key, if there is one.
    fn deprecate(&mut self, random: &mut Random) -> Fields {
        let root = self.text.find("table Root {").unwrap();
        let types = super::table(&self.text);
        let known = &Types(&types.types).root().fields;
        let place = random.below(known.len());
        let name = format!("  {}: ", known[place].name);
        let at = root + self.text[root..].find(&name).unwrap();
        let end = at + self.text[at..].find('\n').unwrap();
        let line = &self.text[at..end];
        let is_leaf = LEAVES
            .iter()
            .any(|(ty, _)| line.contains(&format!(": {ty}")));
        if line.contains("primary") || line.contains('[') || !is_leaf {
            return Fields::Same;
        }
        let kept = line.split(['(', ';']).next().unwrap().trim_end();
        let line = format!("{kept} (deprecated);");
        self.text.replace_range(at..end, &line);
        self.shape += 1;
        Fields::Gone(place)
    }

    /// Edits a field that is a number or a string and not part of the key.
    fn edit(&mut self, random: &mut Random, change: impl Fn(Line<'_>, &mut Random)) {
        let mut lines: Vec<String> = self.text.lines().map(str::to_owned).collect();
        let is_leaf = |line: &str| {
            let is_field = line.starts_with("  ") && !line.contains("primary");
            is_field
                && LEAVES
                    .iter()
                    .any(|(ty, _)| of(line).is_some_and(|parts| parts.1 == *ty))
        };
        let places: Vec<usize> = (0..lines.len()).filter(|n| is_leaf(&lines[*n])).collect();
        if places.is_empty() {
            return;
        }
        let place = *random.pick(&places);
        let opened = lines[..place]
            .iter()
            .rfind(|line| line.ends_with('{'))
            .unwrap();
        let is_of_struct = opened.starts_with("struct");
        let (mut name, ty, mut default, mut attribute) = of(&lines[place]).unwrap();
        if attribute == "deprecated" {
            return;
        }
        let line = Line {
            is_of_struct,
            ty: &ty,
            name: &mut name,
            default: &mut default,
            attribute: &mut attribute,
        };
        change(line, random);
        let mut text = format!("  {name}: {ty}");
        if !default.is_empty() {
            text += &format!(" = {default}");
        }
        if !attribute.is_empty() {
            text += &format!(" ({attribute})");
        }
        lines[place] = text + ";";
        self.text = lines.join("\n") + "\n";
    }
}

/// A field's line, in parts.
struct Line<'l> {
    is_of_struct: bool,
    ty: &'l str,
    name: &'l mut String,
    default: &'l mut String,
    attribute: &'l mut String,
}

/// The name, type, default and attribute of a line; the latter two may be empty.
fn of(line: &str) -> Option<(String, String, String, String)> {
    let (name, rest) = line.trim().trim_end_matches(';').split_once(": ")?;
    let (rest, attribute) = rest.split_once(" (").unwrap_or((rest, ""));
    let (ty, default) = rest.split_once(" = ").unwrap_or((rest, ""));
    let attribute = attribute.trim_end_matches(')');
    Some([name, ty, default, attribute].map(str::to_owned)).map(|[a, b, c, d]| (a, b, c, d))
}
