//! Asks cargo for the workspace's packages.

use std::io::Error;
use std::process::Command;

use dflat::Result;
use serde_json::Value;

use crate::schema::cargo::{
    BuildScript, Dependency, DependencyKind, Executable, Feature, Library, Local, PackageData,
    Registry, Source, Target,
};

/// The packages of this workspace and all they depend on.
pub(crate) fn packages() -> Result<Vec<PackageData>> {
    let metadata = metadata().map_err(dflat::Error::user)?;
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    Ok(packages.iter().map(package).collect())
}

fn metadata() -> Result<Value, Error> {
    let run = |offline: &[&str]| {
        Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1"])
            .args(offline)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
    };
    let mut output = run(&["--offline"])?;
    if !output.status.success() {
        // Packages for other platforms may not have been downloaded yet.
        output = run(&[])?;
    }
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::other(message));
    }
    serde_json::from_slice(&output.stdout).map_err(Error::other)
}

fn package(json: &Value) -> PackageData {
    let dependencies: Vec<_> = list(&json["dependencies"]).iter().map(dependency).collect();
    let features = json["features"].as_object().into_iter().flatten();
    PackageData {
        name: text(&json["name"]),
        version: text(&json["version"]),
        description: json["description"]
            .as_str()
            .map(|text| text.trim().to_owned()),
        license: json["license"].as_str().map(str::to_owned),
        edition: text(&json["edition"]).parse().unwrap_or_default(),
        authors: texts(&json["authors"]),
        dependency_count: u32::try_from(dependencies.len()).unwrap_or(u32::MAX),
        dependencies,
        features: features
            .map(|(name, enables)| Feature {
                name: Some(name.clone()),
                enables: texts(enables),
            })
            .collect(),
        targets: list(&json["targets"])
            .iter()
            .map(|json| Some(target(json)))
            .collect(),
        source: Some(match json["source"].as_str() {
            Some(url) => Source::Registry(Registry {
                url: Some(url.to_owned()),
            }),
            None => Source::Local(Local {
                path: Some(text(&json["manifest_path"])),
            }),
        }),
        ..PackageData::default()
    }
}

fn dependency(json: &Value) -> Dependency {
    Dependency {
        name: Some(text(&json["name"])),
        requirement: Some(text(&json["req"])),
        kind: match json["kind"].as_str() {
            Some("dev") => DependencyKind::Development,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        },
        optional: json["optional"].as_bool().unwrap_or_default(),
        features: texts(&json["features"]),
    }
}

fn target(json: &Value) -> Target {
    match text(&json["kind"][0]).as_str() {
        "proc-macro" => Target::Library(Library { proc_macro: true }),
        "custom-build" => Target::BuildScript(BuildScript { links: None }),
        "lib" | "rlib" | "cdylib" | "staticlib" | "dylib" => Target::Library(Library::default()),
        kind => Target::Executable(Executable {
            kind: Some(kind.to_owned()),
        }),
    }
}

fn list(json: &Value) -> &[Value] {
    json.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(json: &Value) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn texts(json: &Value) -> Vec<String> {
    list(json).iter().map(text).collect()
}
