//! Checks that each Rust file belongs to a module tree: a file that no `mod` names is never
//! compiled, and its tests never run.

use crate::finding::Finding;
use crate::workspace::File;

/// Finds the files that are in no module tree.
pub fn check(files: &[File]) -> Vec<Finding> {
    let is_source = |file: &&File| {
        file.has_extension("rs") && !file.is_test_data() && !file.is_generated() && !is_root(file)
    };
    let sources = files.iter().filter(is_source);
    let left_out = sources.filter(|file| !is_named(files, &file.path));
    let finding = |file: &File| {
        let message = "no module has `mod` for this file, so it is never compiled";
        Finding::error(&file.path, 0, message.to_owned())
    };
    left_out.map(finding).collect()
}

/// Whether Cargo compiles the file as the root of a crate.
fn is_root(file: &File) -> bool {
    let Some((folder, name)) = file.path.rsplit_once('/') else {
        return true;
    };
    let folder = folder.rsplit('/').next().unwrap_or_default();
    matches!(name, "main.rs" | "lib.rs" | "build.rs")
        || matches!(
            folder,
            "bin" | "tests" | "benches" | "examples" | "fuzz_targets"
        )
}

/// Whether the parent module has `mod` for the file, or another file has its path in a text.
fn is_named(files: &[File], path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return true;
    };
    let (parent, module) = match name.strip_suffix(".rs") {
        Some("mod") => folder.rsplit_once('/').unwrap_or(("", folder)),
        Some(stem) => (folder, stem),
        None => return true,
    };
    let parents = ["mod.rs", "main.rs", "lib.rs"].map(|name| format!("{parent}/{name}"));
    let beside = format!("{parent}.rs");
    let is_parent = |file: &&File| {
        file.path == beside
            || parents.contains(&file.path)
            // The root of a test or a program of its own may stand in the folder.
            || (is_root(file) && file.path.starts_with(&format!("{parent}/")))
    };
    let has_module = files
        .iter()
        .filter(is_parent)
        .any(|file| declares(&file.text, module));
    has_module || {
        let end = path.rsplit('/').take(2).collect::<Vec<_>>();
        let end = format!("{}/{}", end.last().unwrap_or(&""), name);
        let is_other = |file: &&File| file.path != path && file.has_extension("rs");
        let others = files.iter().filter(is_other);
        let quoted = [
            format!("/{name}\""),
            format!("\"{name}\""),
            format!("{end}\""),
        ];
        others
            .into_iter()
            .any(|file| quoted.iter().any(|text| file.text.contains(text)))
    }
}

/// Whether a text has `mod` with this name, or the macro of the laws makes the module.
fn declares(text: &str, module: &str) -> bool {
    let heads = [format!("mod {module};"), format!("mod {module} {{")];
    let laws = format!("\n    {module} {{\n");
    heads.iter().any(|head| text.contains(head))
        || (text.contains("\nlaws! {") && text.contains(&laws))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::File;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn files_that_no_module_names_are_found() {
        let files = [
            file("crates/a/src/lib.rs", "mod b;\nmod d;\nmod laws;\n"),
            file("crates/a/src/b.rs", "mod c;\n"),
            file("crates/a/src/b/c.rs", ""),
            file("crates/a/src/b/lost.rs", ""),
            file("crates/a/src/d/mod.rs", "#[path = \"odd/e.rs\"]\nmod e;\n"),
            file("crates/a/src/d/odd/e.rs", ""),
            file("crates/a/src/lost/mod.rs", ""),
            file("crates/a/src/bin/f.rs", ""),
            file(
                "crates/a/src/laws/mod.rs",
                "\nlaws! { of laws;\n    i {\n        a_law\n    }\n}\n",
            ),
            file("crates/a/src/laws/i.rs", ""),
            file("crates/a/tests/it/main.rs", "mod g;\n"),
            file("crates/a/tests/it/g/mod.rs", "mod h;\n"),
            file("crates/a/tests/it/g/h.rs", ""),
            file("crates/a/tests/it/g/forgotten.rs", "mod forgotten;\n"),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        for (found, wanted) in found
            .iter()
            .zip(["b/lost.rs", "lost/mod.rs", "g/forgotten.rs"])
        {
            assert!(found.contains(wanted), "{found}");
        }
    }
}
