import Foundation

/// Measures the scenarios of crates/dflat-bench through Swift, once for each run, and prints a line
/// for each time: the name and the nanoseconds. `cargo xtask swift --bench` prints them beside Rust.
///
/// Usage: DflatBenchmarks OBJECTS RUNS DIRECTORY [plain | updates | deliveries]
let words = CommandLine.arguments
let groups = ["plain", "updates", "deliveries"]
guard (4...5).contains(words.count), let objects = Int(words[1]), let runs = Int(words[2]),
  objects >= 10, words.count == 4 || groups.contains(words[4])
else {
  print("usage: DflatBenchmarks OBJECTS RUNS DIRECTORY [plain | updates | deliveries]")
  exit(2)
}
let chosen = words.count == 5 ? [words[4]] : groups
let updates = try chosen.contains("updates") ? Updates(words[3], objects) : nil
// The first run fills caches.
for run in 0...runs {
  var times: Times = []
  if chosen.contains("plain") { times += try plainScenarios(words[3], objects) }
  if let updates = updates { times += updates.run() }
  if chosen.contains("deliveries") { times += try deliveryScenarios(words[3], objects) }
  guard run > 0 else { continue }
  for (name, nanoseconds) in times { print(name, nanoseconds) }
}
updates?.end()
