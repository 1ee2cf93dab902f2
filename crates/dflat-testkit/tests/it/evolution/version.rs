//! Versions of a schema whose parts have identities, independent of their names.

use std::fmt::Write as _;

use dflat_testkit::random::Random;

/// The identity of a part, the same in every version.
pub(crate) type Identity = u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Bool,
    Byte,
    Int,
    Long,
    Double,
}

const NUMBERS: [Number; 5] = [
    Number::Bool,
    Number::Byte,
    Number::Int,
    Number::Long,
    Number::Double,
];

impl Number {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Byte => "ubyte",
            Self::Int => "int",
            Self::Long => "long",
            Self::Double => "double",
        }
    }
}

/// The type of a field; declared types by their positions in the version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Type {
    Number(Number),
    Text,
    Enum,
    Struct,
    Union,
    Table(usize),
    Numbers,
    Texts,
    Tables(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) identity: Identity,
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// The default of a number.
    pub(crate) default: u8,
    pub(crate) required: bool,
    pub(crate) deprecated: bool,
    indexed: bool,
    unique: bool,
    /// The field leads to a type that would not be reached otherwise, so that changes of the type
    /// show.
    anchor: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
    /// A field was removed. A later field could be mistaken for it under another name.
    closed: bool,
}

/// A named part with a number: an enum's value, or a union's member and the table it holds.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) identity: Identity,
    pub(crate) name: String,
    pub(crate) number: u8,
    pub(crate) table: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) identity: Identity,
    pub(crate) name: String,
    pub(crate) number: Number,
}

/// A version: the first table is the root.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) tables: Vec<Table>,
    pub(crate) values: Vec<Named>,
    pub(crate) members: Vec<Named>,
    pub(crate) structure: Vec<Member>,
    pub(crate) enum_name: String,
    pub(crate) struct_name: String,
    pub(crate) union_name: String,
    next: Identity,
}

impl Version {
    /// A first version.
    pub(crate) fn first(random: &mut Random) -> Self {
        let mut version = Self {
            tables: Vec::new(),
            values: Vec::new(),
            members: Vec::new(),
            structure: Vec::new(),
            enum_name: "Color".to_owned(),
            struct_name: "Place".to_owned(),
            union_name: "Content".to_owned(),
            next: 0,
        };
        for name in ["Root", "Note", "Image"] {
            let name = name.to_owned();
            version.tables.push(Table {
                name,
                fields: Vec::new(),
                closed: false,
            });
        }
        for number in 0..3 {
            let (identity, name) = version.fresh("V");
            version.values.push(Named {
                identity,
                name,
                number,
                table: 0,
            });
            let (identity, name) = version.fresh("M");
            let table = 1 + usize::from(number) % 2;
            version.members.push(Named {
                identity,
                name,
                number: number + 1,
                table,
            });
            let (identity, name) = version.fresh("s");
            let number = [Number::Int, Number::Int, Number::Double][usize::from(number)];
            version.structure.push(Member {
                identity,
                name,
                number,
            });
        }
        version.fill(random);
        version
    }

    /// Gives the tables their fields.
    fn fill(&mut self, random: &mut Random) {
        let anchors = [
            Type::Table(1),
            Type::Tables(2),
            Type::Enum,
            Type::Struct,
            Type::Union,
        ];
        for ty in anchors {
            self.add(0, ty, random);
        }
        for field in &mut self.tables[0].fields {
            field.anchor = true;
        }
        for table in [1, 2] {
            self.add(table, Type::Number(Number::Int), random);
        }
        for _ in 0..9 {
            let (table, ty) = (random.below(3), self.any_type(random));
            self.add(table, ty, random);
        }
        for field in self.tables.iter_mut().flat_map(|table| &mut table.fields) {
            field.deprecated = !field.anchor && random.one_in(8);
        }
    }

    fn fresh(&mut self, stem: &str) -> (Identity, String) {
        self.next += 1;
        (self.next, format!("{stem}{}", self.next))
    }

    fn any_type(&self, random: &mut Random) -> Type {
        match random.below(9) {
            0..3 => Type::Number(*random.pick(&NUMBERS)),
            3 => Type::Text,
            4 => Type::Enum,
            5 => Type::Struct,
            6 => Type::Numbers,
            7 => Type::Texts,
            _ => Type::Tables(1 + random.below(2)),
        }
    }

    fn add(&mut self, table: usize, ty: Type, random: &mut Random) {
        let field = self.field(ty, random);
        self.tables[table].fields.push(field);
    }

    fn field(&mut self, ty: Type, random: &mut Random) -> Field {
        let (identity, name) = self.fresh("f");
        let default = match ty {
            Type::Number(Number::Bool) => random.below(2),
            Type::Number(_) => random.below(4),
            _ => 0,
        };
        Field {
            identity,
            name,
            ty,
            default: default as u8,
            required: matches!(ty, Type::Text | Type::Texts) && random.one_in(4),
            deprecated: false,
            indexed: matches!(ty, Type::Number(_) | Type::Text) && random.one_in(4),
            unique: false,
            anchor: false,
        }
    }

    /// Makes a change that must not break anything.
    pub(crate) fn change_freely(&mut self, random: &mut Random) {
        let table = random.below(3);
        let field = random.below(self.tables[table].fields.len());
        match random.below(10) {
            0 => self.tables[table].fields[field].name = self.fresh("renamed").1,
            1 => match random.below(5) {
                0 => self.enum_name = self.fresh("Enum").1,
                1 => self.struct_name = self.fresh("Struct").1,
                2 => self.union_name = self.fresh("Union").1,
                // The root's name is its name in the file.
                other => self.tables[other - 2].name = self.fresh("Table").1,
            },
            2 => self.values[0].name = self.fresh("V").1,
            3 => self.members[0].name = self.fresh("M").1,
            4 => self.structure[0].name = self.fresh("s").1,
            5 if !self.tables[table].closed => {
                let ty = self.any_type(random);
                let mut field = self.field(ty, random);
                field.required = false;
                self.tables[table].fields.push(field);
            }
            6 => {
                let (identity, name) = self.fresh("V");
                let number = self.values.len() as u8;
                self.values.push(Named {
                    identity,
                    name,
                    number,
                    table: 0,
                });
            }
            7 => {
                let (identity, name) = self.fresh("M");
                let number = self.members.len() as u8 + 1;
                self.members.push(Named {
                    identity,
                    name,
                    number,
                    table: 1,
                });
            }
            8 => {
                let field = &mut self.tables[table].fields[field];
                if !field.anchor && !field.required {
                    field.deprecated = !field.deprecated;
                }
            }
            _ => {
                let field = &mut self.tables[table].fields[field];
                if matches!(field.ty, Type::Number(_) | Type::Text) {
                    field.indexed = !field.indexed;
                    field.unique = field.indexed && random.one_in(2);
                }
            }
        }
    }

    /// Makes a change that breaks something, if the schema has a part to which it applies.
    pub(crate) fn break_something(&mut self, random: &mut Random) {
        let table = random.below(3);
        let position = random.below(self.tables[table].fields.len());
        let last = self.tables[table].fields.len() - 1;
        let field = &mut self.tables[table].fields[position];
        match random.below(9) {
            0 if !field.anchor => {
                field.ty = match field.ty {
                    Type::Text => Type::Number(Number::Long),
                    Type::Number(_) => Type::Texts,
                    _ => Type::Text,
                };
                (field.default, field.required, field.indexed, field.unique) =
                    (0, false, false, false);
            }
            1 => {
                let ty = self.any_type(random);
                let field = self.field(ty, random);
                self.tables[table].fields.insert(position, field);
            }
            2 if !field.anchor && last > 0 => {
                self.tables[table].fields.remove(position);
                self.tables[table].closed = true;
            }
            3 if position < last => self.tables[table].fields.swap(position, position + 1),
            4 if matches!(field.ty, Type::Number(_)) => {
                field.default = (field.default + 1) % 2;
            }
            5 if !field.deprecated && matches!(field.ty, Type::Text | Type::Texts) => {
                field.required = !field.required;
            }
            6 => {
                let second = self.values[1].number;
                self.values[1].number = std::mem::replace(&mut self.values[0].number, second);
                self.values.sort_by_key(|value| value.number);
            }
            7 => {
                let second = self.members[1].number;
                self.members[1].number = std::mem::replace(&mut self.members[0].number, second);
                self.members.sort_by_key(|member| member.number);
            }
            8 => self.structure.swap(0, 1 + random.below(2)),
            _ => {}
        }
    }

    /// The same version with nothing deprecated.
    pub(crate) fn revived(&self) -> Self {
        let mut revived = self.clone();
        for field in revived
            .tables
            .iter_mut()
            .flat_map(|table| &mut table.fields)
        {
            field.deprecated = false;
        }
        revived
    }

    fn type_name(&self, ty: Type) -> String {
        match ty {
            Type::Number(number) => number.name().to_owned(),
            Type::Text => "string".to_owned(),
            Type::Enum => self.enum_name.clone(),
            Type::Struct => self.struct_name.clone(),
            Type::Union => self.union_name.clone(),
            Type::Table(table) => self.tables[table].name.clone(),
            Type::Numbers => "[int]".to_owned(),
            Type::Texts => "[string]".to_owned(),
            Type::Tables(table) => format!("[{}]", self.tables[table].name),
        }
    }

    /// The schema's text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("enum {}: ubyte {{ ", self.enum_name);
        for value in &self.values {
            write!(text, "{} = {}, ", value.name, value.number).unwrap();
        }
        write!(text, "}}\nstruct {} {{ ", self.struct_name).unwrap();
        for member in &self.structure {
            write!(text, "{}: {}; ", member.name, member.number.name()).unwrap();
        }
        write!(text, "}}\nunion {} {{ ", self.union_name).unwrap();
        for member in &self.members {
            write!(
                text,
                "{}: {}, ",
                member.name, self.tables[member.table].name
            )
            .unwrap();
        }
        text.push_str("}\n");
        for (position, table) in self.tables.iter().enumerate() {
            write!(text, "table {} {{ ", table.name).unwrap();
            if position == 0 {
                text.push_str("id: long (primary); ");
            }
            for field in &table.fields {
                text.push_str(&self.declaration(field));
            }
            text.push_str("}\n");
        }
        text + "root_type Root;\n"
    }

    fn declaration(&self, field: &Field) -> String {
        let default = match field.ty {
            Type::Number(Number::Bool) => {
                [" = false", " = true"][usize::from(field.default)].to_owned()
            }
            Type::Number(_) => format!(" = {}", field.default),
            // The first value may not be 0 any more.
            Type::Enum => " = 0".to_owned(),
            _ => String::new(),
        };
        let attributes = [
            (field.required, "required"),
            (field.deprecated, "deprecated"),
            (field.indexed, "indexed"),
            (field.unique, "unique"),
        ];
        let attributes = attributes.iter().filter(|(holds, _)| *holds);
        let attributes: Vec<&str> = attributes.map(|(_, name)| *name).collect();
        let attributes = match attributes[..] {
            [] => String::new(),
            _ => format!(" ({})", attributes.join(", ")),
        };
        format!(
            "{}: {}{default}{attributes}; ",
            field.name,
            self.type_name(field.ty)
        )
    }
}
