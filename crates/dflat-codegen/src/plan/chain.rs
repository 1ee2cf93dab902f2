//! Decides where generated code hides the type of a field from rustc.
//!
//! To find whether a type is `Send` and what dropping it does, rustc follows the types of fields,
//! 128 steps deep at most. Four of these steps lead from a table through a vector to the next
//! table. So a long chain of types that own one another, also through vectors, is cut into shorter
//! chains. At a cut, the outer type holds the inner value in a type that hides it.

use dflat_schema::{Definition, DefinitionId, DefinitionKind, Element, Schema, UnionTarget};

use super::recursion::{finishing_order, groups};

/// The limit on types in a chain. At four steps each, there is room for the types that users put
/// around them.
const TYPES_MAX: usize = 24;

/// The groups of types that own one another, directly or through others.
pub(super) struct Chains {
    /// By [`DefinitionId`]: the group of the type.
    groups: Vec<usize>,
    /// By group: the number of its types.
    sizes: Vec<usize>,
    /// By group: the length of the longest chain of types from the group to the end or the next
    /// cut.
    heights: Vec<usize>,
}

impl Chains {
    pub(super) fn of(schema: &Schema) -> Self {
        let owned: Vec<Vec<usize>> = schema.definitions.iter().map(owned).collect();
        let finished = finishing_order(&owned);
        let groups = groups(&owned, &finished);
        let mut sizes = vec![0; owned.len()];
        groups.iter().for_each(|group| sizes[*group] += 1);
        let mut chains = Self {
            groups,
            sizes,
            heights: vec![0; owned.len()],
        };
        // A group's height grows with each member. The groups that a member owns are finished
        // before the member.
        for node in finished {
            let group = chains.groups[node];
            let mut below = 0;
            for inner in &owned[node] {
                let table = matches!(schema.definitions[*inner].kind, DefinitionKind::Table(_));
                let inner = chains.groups[*inner];
                if inner != group && !(table && chains.exceeds(group, inner)) {
                    below = below.max(chains.heights[inner]);
                }
            }
            let height = chains.own_height(group) + below;
            chains.heights[group] = chains.heights[group].max(height);
        }
        chains
    }

    /// Whether values of the table `inner` inside an `outer` hide their type.
    pub(super) fn cuts(&self, outer: DefinitionId, inner: DefinitionId) -> bool {
        let [outer, inner] = [outer, inner].map(|id| self.groups[id.0 as usize]);
        if outer == inner {
            self.sizes[outer] > TYPES_MAX
        } else {
            self.exceeds(outer, inner)
        }
    }

    /// The tables whose type some other type hides, in order.
    pub(super) fn hidden(&self, schema: &Schema) -> Vec<DefinitionId> {
        let mut hidden = vec![false; schema.definitions.len()];
        for (outer, definition) in (0..).map(DefinitionId).zip(&schema.definitions) {
            for inner in owned(definition) {
                let table = matches!(schema.definitions[inner].kind, DefinitionKind::Table(_));
                hidden[inner] |= table && self.cuts(outer, DefinitionId(inner as u32));
            }
        }
        let ids = (0..).map(DefinitionId).zip(hidden);
        ids.filter(|(_, hidden)| *hidden)
            .map(|(id, _)| id)
            .collect()
    }

    fn exceeds(&self, outer: usize, inner: usize) -> bool {
        self.own_height(outer) + self.heights[inner] > TYPES_MAX
    }

    /// The length of the longest chain within a group. In a large group all tables are cut off,
    /// which leaves a table and a union.
    fn own_height(&self, group: usize) -> usize {
        match self.sizes[group] {
            size if size > TYPES_MAX => 2,
            size => size,
        }
    }
}

/// The tables and unions whose values a value owns, also in vectors.
fn owned(definition: &Definition) -> Vec<usize> {
    let ids: Vec<DefinitionId> = match &definition.kind {
        DefinitionKind::Table(table) => {
            let kept = table.fields.iter().filter(|field| !field.deprecated);
            kept.filter_map(|field| match field.ty.element() {
                Element::Definition(id) => Some(id),
                Element::Scalar(_) | Element::Text => None,
            })
            .collect()
        }
        DefinitionKind::Union(union) => {
            let targets = union.members.iter().map(|member| member.target);
            targets
                .filter_map(|target| match target {
                    UnionTarget::Definition(id) => Some(id),
                    UnionTarget::Text => None,
                })
                .collect()
        }
        DefinitionKind::Struct(_) | DefinitionKind::Enum(_) => Vec::new(),
    };
    ids.into_iter().map(|id| id.0 as usize).collect()
}
