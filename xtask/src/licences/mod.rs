//! `cargo xtask licences`: may users distribute the crates that they link because of Dflat?

pub mod expression;

use std::path::Path;

use serde_json::Value;

use crate::Result;
use crate::finding::Finding;
use crate::licences::expression::Expression;
use crate::workspace;

/// Licences whose only condition is that their text is included.
pub const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "Unicode-3.0",
    "Zlib",
];

/// Dedications to the public domain, which have no conditions.
pub const PUBLIC_DOMAIN: [&str; 2] = ["Unlicense", "0BSD"];

/// Checks every package that the workspace depends on, on any platform, tests and build scripts
/// included. Returns the number of packages and the findings.
///
/// # Errors
/// An error if a package is not on this machine; `cargo fetch` downloads it.
pub fn run(root: &Path) -> Result<(usize, Vec<Finding>)> {
    let metadata = workspace::metadata(root, &["--offline"])
        .map_err(|error| format!("{error}\n`cargo fetch` gets what is missing"))?;
    let packages: Vec<_> = workspace::elements(&metadata["packages"]).collect();
    let findings = packages
        .iter()
        .filter_map(|package| check(package))
        .collect();
    Ok((packages.len(), findings))
}

fn check(package: &Value) -> Option<Finding> {
    let name = format!(
        "{} {}",
        workspace::text(&package["name"]),
        workspace::text(&package["version"])
    );
    let licence = workspace::text(&package["license"]);
    let message = match Expression::parse(&licence) {
        Ok(expression) if expression.is_met(&is_allowed) => return None,
        Ok(_) => format!("`{licence}` asks for more than the allowed licences give"),
        Err(error) => format!("`{licence}` is not a licence expression: {error}"),
    };
    Some(Finding::error(name, 0, message))
}

fn is_allowed(licence: &str) -> bool {
    ALLOWED.contains(&licence) || PUBLIC_DOMAIN.contains(&licence)
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::json;

    #[test]
    fn packages_are_judged_by_their_licence() {
        let passes = |licence: serde_json::Value| {
            check(&json!({"name": "a", "version": "1.0.0", "license": licence})).is_none()
        };
        assert!(passes(json!("MIT/Apache-2.0")));
        assert!(passes(json!("MIT OR Apache-2.0 OR LGPL-2.1-or-later")));
        assert!(passes(json!("(MIT OR Apache-2.0) AND Unicode-3.0")));
        assert!(!passes(json!("MIT AND GPL-3.0-only")));
        assert!(!passes(json!("MPL-2.0")));
        assert!(!passes(json!(null)));
    }
}
