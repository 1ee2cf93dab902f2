//! Every external crate that users compile has a line in `ARCHITECTURE.md` with the reason.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::tidy::architecture;
use crate::workspace::{DependencyKind, Package};

/// The heading of the table.
const HEADING: &str = "Dependencies";

/// Compares the table with the manifests of the published crates.
pub fn check(architecture: &str, packages: &[Package]) -> Vec<Finding> {
    let rows = architecture::table(architecture, HEADING);
    let listed: BTreeSet<_> = rows.iter().map(|&(_, name)| name).collect();
    let mut needed = BTreeSet::new();
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.published) {
        for dependency in &package.dependencies {
            if dependency.kind == DependencyKind::Development || !dependency.external {
                continue;
            }
            let name = dependency.name.as_str();
            if needed.insert(name) && !listed.contains(name) {
                let manifest = format!("crates/{}/Cargo.toml", package.name);
                let path = architecture::PATH;
                let message = format!("`{name}` has no line under `{HEADING}` in {path}");
                findings.push(Finding::error(manifest, 0, message));
            }
        }
    }
    for (line, name) in rows {
        if !needed.contains(name) {
            let message = format!("no published crate depends on `{name}`");
            findings.push(Finding::error(architecture::PATH, line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Dependency, DependencyKind, Package};

    #[test]
    fn dependency_table_agrees_with_the_manifests() {
        let dependency = |name: &str, kind, external| Dependency {
            name: name.to_owned(),
            kind,
            external,
        };
        let packages = [Package {
            name: "ours".to_owned(),
            version: String::new(),
            published: true,
            dependencies: vec![
                dependency("a", DependencyKind::Normal, true),
                dependency("b", DependencyKind::Development, true),
                dependency("c", DependencyKind::Normal, false),
            ],
        }];
        let table = |rows: &str| format!("## Dependencies\n\n| Crate | Why |\n|--|--|\n{rows}");
        assert_eq!(check(&table("| `a` | reads |\n"), &packages), []);
        assert_eq!(check(&table(""), &packages).len(), 1);
        assert_eq!(check(&table("| `a` | |\n| `b` | |\n"), &packages).len(), 1);
    }
}
