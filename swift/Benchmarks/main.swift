import Foundation

/// Measures the scenarios of crates/dflat-bench through Swift, once for each run, and prints a line
/// for each time: the name and the nanoseconds. `cargo xtask swift --bench` prints them beside Rust.
///
/// Usage: DflatBenchmarks OBJECTS RUNS DIRECTORY
let words = CommandLine.arguments
guard words.count == 4, let objects = Int(words[1]), let runs = Int(words[2]), objects >= 10 else {
  print("usage: DflatBenchmarks OBJECTS RUNS DIRECTORY")
  exit(2)
}
let updates = try Updates(words[3], objects)
// The first run fills caches.
for run in 0...runs {
  let times =
    try plainScenarios(words[3], objects) + updates.run() + deliveryScenarios(words[3], objects)
  guard run > 0 else { continue }
  for (name, nanoseconds) in times { print(name, nanoseconds) }
}
updates.end()
