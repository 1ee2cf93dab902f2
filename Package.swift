// swift-tools-version:5.9
import PackageDescription

// The C library is found by pkg-config: swift/README.md says how to build and install it.
#if os(Linux)
  let sqlite: [Target] = [
    .systemLibrary(name: "SQLite3", path: "swift/Sources/SQLite3", pkgConfig: "sqlite3")
  ]
  let sqliteDependency: [Target.Dependency] = ["SQLite3"]
#else
  let sqlite: [Target] = []
  let sqliteDependency: [Target.Dependency] = []
#endif

// For the tests of this package: the language mode that the variable names, and a warning is an
// error.
let settings: [SwiftSetting] =
  Context.environment["DFLAT_SWIFT_STRICT"].map { mode in
    [.unsafeFlags(["-swift-version", mode, "-warnings-as-errors"])]
  } ?? []

// For the tests of this package: a module Combine on systems that have none.
let hasStub = Context.environment["DFLAT_SWIFT_COMBINE"] != nil
let combine: [Target] =
  hasStub ? [.target(name: "Combine", path: "swift/Tests/Combine", swiftSettings: settings)] : []
let combineDependency: [Target.Dependency] = hasStub ? ["Combine"] : []

let modules: [Target.Dependency] = ["SQLiteDflat", "Dflat", "FlatBuffers"]

let library: [Target] = [
  .systemLibrary(name: "DflatC", path: "swift/Sources/DflatC", pkgConfig: "dflat"),
  .target(name: "FlatBuffers", path: "swift/Sources/FlatBuffers", swiftSettings: settings),
  .target(
    name: "Dflat", dependencies: ["FlatBuffers"] + combineDependency, path: "swift/Sources/Dflat",
    swiftSettings: settings),
  .target(
    name: "SQLiteDflat", dependencies: ["Dflat", "FlatBuffers", "DflatC"] + sqliteDependency + combineDependency,
    path: "swift/Sources/SQLiteDflat", swiftSettings: settings),
]

// The code that dflatc generates for the schemas of the tests.
let schemas: [String] = [
  "bench_doc", "conform", "dict", "docs", "equipment", "external", "flags", "hidden", "indexes",
  "keys", "keywords", "links", "monster", "names", "namespaces", "post", "recursive", "renamed",
  "required", "scalars", "shadows", "structs", "unions", "vectors",
]
let generated: [Target] = schemas.map { name in
  .target(
    name: "Generated_\(name)", dependencies: modules, path: "swift/Tests/Generated/\(name)",
    swiftSettings: settings)
}
let generatedModules: [Target.Dependency] = schemas.map { .target(name: "Generated_\($0)") }

let tests: [Target] = [
  .testTarget(
    name: "DflatTests", dependencies: modules + ["DflatC"] + sqliteDependency + combineDependency
      + generatedModules,
    path: "swift/Tests/DflatTests", swiftSettings: settings)
]

let package = Package(
  name: "Dflat",
  products: [
    .library(name: "Dflat", targets: ["Dflat"]),
    .library(name: "SQLiteDflat", targets: ["SQLiteDflat"]),
  ],
  targets: sqlite + combine + library + generated + tests
)
