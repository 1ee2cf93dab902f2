//! Finds the types that contain themselves by value, which need a box.

use dflat_schema::{DefinitionId, DefinitionKind, Element, FieldType, Schema, UnionTarget};

/// The groups of types that contain one another.
pub(super) struct Recursion {
    /// By [`DefinitionId`]: the group of the type.
    groups: Vec<usize>,
}

impl Recursion {
    pub(super) fn of(schema: &Schema) -> Self {
        let contained: Vec<Vec<usize>> = schema.definitions.iter().map(contained).collect();
        let groups = groups(&contained, &finishing_order(&contained));
        Self { groups }
    }

    /// Whether a value of `inner` inside an `outer` can contain another `outer`.
    pub(super) fn joins(&self, outer: DefinitionId, inner: DefinitionId) -> bool {
        self.groups[outer.0 as usize] == self.groups[inner.0 as usize]
    }
}

/// The types whose values a value contains. A vector does not count, because it has its own
/// allocation.
fn contained(definition: &dflat_schema::Definition) -> Vec<usize> {
    let ids: Vec<DefinitionId> = match &definition.kind {
        DefinitionKind::Table(table) => table
            .fields
            .iter()
            .filter(|field| !field.deprecated)
            .filter_map(|field| match field.ty {
                FieldType::Single(Element::Definition(id)) => Some(id),
                _ => None,
            })
            .collect(),
        DefinitionKind::Union(union) => union
            .members
            .iter()
            .filter_map(|member| match member.target {
                UnionTarget::Definition(id) => Some(id),
                UnionTarget::Text => None,
            })
            .collect(),
        DefinitionKind::Struct(_) | DefinitionKind::Enum(_) => Vec::new(),
    };
    ids.into_iter().map(|id| id.0 as usize).collect()
}

/// The strongly connected component of each node, identified by one of its members. The input is
/// [`finishing_order`]. The search uses an explicit stack, because a hostile schema can nest types
/// arbitrarily deep.
pub(super) fn groups(edges: &[Vec<usize>], finished: &[usize]) -> Vec<usize> {
    let mut sources = vec![Vec::new(); edges.len()];
    for (source, targets) in edges.iter().enumerate() {
        for target in targets {
            sources[*target].push(source);
        }
    }
    let mut groups = vec![usize::MAX; edges.len()];
    for start in finished.iter().rev() {
        let mut pending = vec![*start];
        while let Some(node) = pending.pop() {
            if groups[node] == usize::MAX {
                groups[node] = *start;
                pending.extend(&sources[node]);
            }
        }
    }
    groups
}

/// All nodes, each after the nodes it leads to, except where a cycle prevents this.
pub(super) fn finishing_order(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(edges.len());
    let mut visited = vec![false; edges.len()];
    for start in 0..edges.len() {
        if std::mem::replace(&mut visited[start], true) {
            continue;
        }
        let mut path = vec![(start, edges[start].iter())];
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            match rest.next() {
                None => {
                    order.push(node);
                    path.pop();
                }
                Some(next) if !std::mem::replace(&mut visited[*next], true) => {
                    path.push((*next, edges[*next].iter()));
                }
                Some(_) => {}
            }
        }
    }
    order
}
