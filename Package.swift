// swift-tools-version:5.9
import Foundation
import PackageDescription

// The C library is found by pkg-config: swift/README.md says how to build and install it. On
// Apple's systems, it is the framework that swift/xcframework makes, if that exists.
let framework = "swift/DflatC.xcframework"
#if os(Linux)
  let hasFramework = false
#else
  let hasFramework = FileManager.default.fileExists(
    atPath: Context.packageDirectory + "/" + framework)
#endif
let cLibrary: Target =
  hasFramework
  ? .binaryTarget(name: "DflatC", path: framework)
  : .systemLibrary(name: "DflatC", path: "swift/Sources/DflatC", pkgConfig: "dflat")

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
// error; and whether the thread sanitizer is used.
let settings: [SwiftSetting] =
  (Context.environment["DFLAT_SWIFT_STRICT"].map { mode in
    [.unsafeFlags(["-swift-version", mode, "-warnings-as-errors"])]
  } ?? [])
  + (Context.environment["DFLAT_SWIFT_SANITIZED"] == nil ? [] : [.define("DFLAT_SANITIZED")])

// For the tests of this package: a module Combine on systems that have none.
let hasStub = Context.environment["DFLAT_SWIFT_COMBINE"] != nil
let combine: [Target] =
  hasStub ? [.target(name: "Combine", path: "swift/Tests/Combine", swiftSettings: settings)] : []
let combineDependency: [Target.Dependency] = hasStub ? ["Combine"] : []

// The module FlatBuffers is Google's if the variable is set: to the folder of a copy of Google's
// repository, or to 1, which takes a version that the original works with.
let google = Context.environment["DFLAT_GOOGLE_FLATBUFFERS"]
let flatBuffers: Target.Dependency =
  google == nil ? "FlatBuffers" : .product(name: "FlatBuffers", package: "flatbuffers")
let packages: [Package.Dependency] =
  switch google {
  case nil: []
  case "1":
    [.package(url: "https://github.com/google/flatbuffers.git", "22.9.24"..<"24.0.0")]
  case .some(let folder): [.package(name: "flatbuffers", path: folder)]
  }
let flatBuffersHere: [Target] =
  google == nil
  ? [.target(name: "FlatBuffers", path: "swift/Sources/FlatBuffers", swiftSettings: settings)] : []

let modules: [Target.Dependency] = ["SQLiteDflat", "Dflat", flatBuffers]

// Compiles schemas when a package is built.
let plugin: [Target] = [
  .plugin(name: "DflatPlugin", capability: .buildTool(), path: "swift/Plugins/DflatPlugin")
]

let library: [Target] = [
  cLibrary,
  .target(
    name: "Dflat", dependencies: [flatBuffers] + combineDependency, path: "swift/Sources/Dflat",
    swiftSettings: settings + (google == nil ? [] : [.define("DFLAT_GOOGLE_FLATBUFFERS")])),
  .target(
    name: "SQLiteDflat",
    dependencies: ["Dflat", flatBuffers, "DflatC"] + sqliteDependency + combineDependency,
    path: "swift/Sources/SQLiteDflat", swiftSettings: settings),
]

// The code that dflatc generates for the schemas of the tests.
let schemas: [String] = [
  "bench_doc", "conform", "docs", "equipment", "external", "flags", "hidden", "indexes",
  "keys", "keywords", "links", "monster", "names", "namespaces", "newer", "older", "post",
  "recursive", "renamed", "required", "scalars", "shadows", "structs", "unions", "vectors",
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

// The scenarios of crates/dflat-bench, for `cargo xtask swift --bench`.
let benchmarks: [Target] =
  Context.environment["DFLAT_SWIFT_BENCH"] == nil
  ? []
  : [
    .executableTarget(
      name: "DflatBenchmarks", dependencies: modules + ["Generated_bench_doc"] + sqliteDependency,
      path: "swift/Benchmarks", swiftSettings: settings)
  ]

let package = Package(
  name: "Dflat",
  products: [
    .library(name: "Dflat", targets: ["Dflat"]),
    .library(name: "SQLiteDflat", targets: ["SQLiteDflat"]),
    .plugin(name: "DflatPlugin", targets: ["DflatPlugin"]),
  ],
  dependencies: packages,
  targets: flatBuffersHere + sqlite + combine + plugin + library + generated + tests + benchmarks
)
