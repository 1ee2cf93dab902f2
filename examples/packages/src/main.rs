//! Real data: the packages of this workspace as `cargo metadata` lists them, stored, queried and
//! watched.
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

use std::sync::mpsc;
use std::time::Instant;

use dflat::{FetchedResult, Predicate, Result, Workspace};

mod metadata;

mod schema {
    dflat::include_schema!("packages");
}

use schema::cargo::{
    Local, Package, PackageChangeRequest, PackageData, Registry, SourceRef, TargetRef,
};

fn main() -> Result<()> {
    let packages = metadata::packages()?;
    let total = packages.len();
    let directory = tempfile::tempdir().map_err(dflat::Error::user)?;
    let workspace = Workspace::open(directory.path().join("packages.db"))?;

    let started = Instant::now();
    store(&workspace, packages)?;
    println!("stored {total} packages in {:?}", started.elapsed());

    query(&workspace, total)?;
    watch(&workspace)
}

fn store(workspace: &Workspace, packages: Vec<PackageData>) -> Result<()> {
    let stored = workspace.perform_changes([Package::TABLE], move |tx| {
        for package in packages {
            tx.submit(PackageChangeRequest::creation(package))?;
        }
        Ok(())
    });
    stored.wait()
}

/// Runs a few queries and prints the time of each.
fn query(workspace: &Workspace, total: usize) -> Result<()> {
    let mine = timed("by key", || {
        let found = workspace.get::<Package>(("dflat", "0.1.0"))?;
        Ok(found.into_iter().collect::<Vec<_>>())
    })?;
    assert!(matches!(mine[0].source(), Some(SourceRef::Local(_))));

    let find = |what: &str, predicate: Predicate<Package>| {
        timed(what, || {
            workspace.fetch::<Package>().filter(predicate).all()
        })
    };
    let license = "MIT OR Apache-2.0";
    let both = find("by index: license", Package::LICENSE.eq(license))?;
    assert!(
        both.iter()
            .all(|package| package.license() == Some(license))
    );
    let local = find("by index: source", Package::SOURCE.matches::<Local>())?;
    let elsewhere = find("by index: source", Package::SOURCE.matches::<Registry>())?;
    assert_eq!(local.len() + elsewhere.len(), total);
    let recent = find("by scan: edition", Package::EDITION.ge(2021))?;
    let older = find("by scan: edition", Package::EDITION.lt(2021))?;
    assert_eq!(recent.len() + older.len(), total);
    let silent = find("by scan: no description", Package::DESCRIPTION.is_null())?;
    assert!(silent.iter().all(|package| package.description().is_none()));
    largest(workspace)
}

/// The packages with the most dependencies, and those with procedural macros.
fn largest(workspace: &Workspace) -> Result<()> {
    let largest = timed("ordered, limited", || {
        let query = workspace.fetch::<Package>();
        query
            .order_by(Package::DEPENDENCY_COUNT.descending())
            .limit(5)
            .all()
    })?;
    for package in &largest {
        let (name, version) = (package.name(), package.version());
        let (dependencies, features) = (package.dependencies(), package.features());
        println!(
            "    {name} {version}: {} dependencies, {} features",
            dependencies.len(),
            features.len()
        );
    }
    assert!(
        largest
            .windows(2)
            .all(|p| p[0].dependency_count() >= p[1].dependency_count())
    );

    let all = timed("everything", || workspace.fetch::<Package>().all())?;
    let is_macro = |package: &&Package| {
        let mut targets = package.targets().iter().flatten();
        targets.any(|target| matches!(target, TargetRef::Library(l) if l.proc_macro()))
    };
    println!(
        "    {} of them have procedural macros",
        all.iter().filter(is_macro).count()
    );
    Ok(())
}

fn timed<R: AsRef<[Package]>>(what: &str, run: impl FnOnce() -> Result<R>) -> Result<R> {
    let started = Instant::now();
    let found = run()?;
    println!(
        "{what}: {} rows in {:?}",
        found.as_ref().len(),
        started.elapsed()
    );
    Ok(found)
}

/// Watches the most viewed packages while views are counted.
fn watch(workspace: &Workspace) -> Result<()> {
    let (send, deliveries) = mpsc::channel();
    let popular = workspace
        .fetch::<Package>()
        .filter(Package::VIEWS.gt(0))
        .order_by(Package::VIEWS.descending())
        .limit(3);
    let subscription = workspace.subscribe(popular, move |popular| {
        // The receiver lives as long as the subscription.
        let _ = send.send(popular);
    })?;
    let next = |expected: &[&str]| -> Result<()> {
        let Ok(popular) = deliveries.recv() else {
            unreachable!("the subscription lives")
        };
        let popular: FetchedResult<Package> = popular?.into_result();
        let names: Vec<_> = popular.iter().map(Package::name).collect();
        println!("  most viewed: {names:?}");
        assert_eq!(names, expected);
        Ok(())
    };
    next(&[])?;
    let steps: [(&str, u64, &[&str]); 4] = [
        ("dflat", 2, &["dflat"]),
        ("dflat-engine", 5, &["dflat-engine", "dflat"]),
        ("dflat-model", 1, &["dflat-engine", "dflat", "dflat-model"]),
        (
            "dflat-sqlite",
            3,
            &["dflat-engine", "dflat-sqlite", "dflat"],
        ),
    ];
    for (name, views, expected) in steps {
        println!("{views} views of {name}");
        view(workspace, name, views)?;
        next(expected)?;
    }
    subscription.cancel();
    workspace.shutdown()
}

fn view(workspace: &Workspace, name: &'static str, views: u64) -> Result<()> {
    let changed = workspace.perform_changes_retrying([Package::TABLE], move |tx| {
        for package in &tx.fetch::<Package>().filter(Package::NAME.eq(name)).all()? {
            if let Some(mut request) = PackageChangeRequest::change(tx, package)? {
                request.views += views;
                tx.submit(request)?;
            }
        }
        Ok(())
    });
    changed.wait()
}
