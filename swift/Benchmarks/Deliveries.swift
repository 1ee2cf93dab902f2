import Dflat
import Dispatch
import Foundation
import Generated_bench_doc
import SQLiteDflat

/// Counts the calls of a run, and keeps the time of the last one.
private final class Tally: @unchecked Sendable {
  private let lock = NSLock()
  private var calls = 0
  private var last: UInt64 = 0

  func count(_ isRight: Bool) {
    precondition(isRight)
    let time = now()
    lock.lock()
    calls += 1
    last = max(last, time)
    lock.unlock()
  }

  func end(_ expected: Int) -> UInt64 {
    lock.lock()
    defer { lock.unlock() }
    precondition(calls == expected, "\(calls) calls in place of \(expected)")
    return last
  }
}

/// Deliveries to a thousand subscribers: from the return of the handler to the last call.
func deliveryScenarios(_ directory: String, _ count: Int) throws -> Times {
  let bench = try Bench(directory, count, filled: true)
  let workspace = bench.workspace
  let (subscribers, width) = (min(count, 1000), max(count / 10, 1))
  bench.perform { context in
    for (number, object) in workspace.fetch(for: BenchDoc.self).all().enumerated() {
      let request = BenchDocChangeRequest.changeRequest(object)!
      request.priority = Int32(number)
      try context.submit(request)
    }
  }
  func measure(_ subscribe: (Tally) -> [WorkspaceSubscription]) -> UInt64 {
    let tally = Tally()
    let subscriptions = subscribe(tally)
    bench.perform { _ in }
    let returned = bench.changeAll { ($0 + Int32(width)) % Int32(count) }
    defer { withExtendedLifetime(subscriptions) {} }
    return tally.end(subscribers) - returned
  }
  let results = measure { tally in
    (0..<subscribers).map { number in
      let known = workspace.fetch(for: BenchDoc.self).where(BenchDoc.title == "title\(number)")
      return workspace.subscribe(fetchedResult: known) { tally.count($0.count == 1) }
    }
  }
  let objects = measure { tally in
    workspace.fetch(for: BenchDoc.self).all(limit: .limit(subscribers)).map { object in
      let before = object.priority
      return workspace.subscribe(object: object) { change in
        guard case .updated(let object) = change else { return tally.count(false) }
        tally.count(object.priority != before)
      }
    }
  }
  let ranges = measure { tally in
    (0..<subscribers).map { number in
      let first = Int32(number * (count - width) / subscribers)
      let range = first..<(first + Int32(width))
      let known = workspace.fetch(for: BenchDoc.self).where(
        BenchDoc.priority >= range.lowerBound && BenchDoc.priority < range.upperBound)
      return workspace.subscribe(fetchedResult: known) { result in
        tally.count(result.count == width && range.contains(result[0].priority))
      }
    }
  }
  bench.end()
  return [
    ("subscribe_results", results), ("subscribe_objects", objects), ("subscribe_ranges", ranges),
  ]
}
