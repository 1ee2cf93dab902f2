import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLiteDflat
import XCTest

private struct Settings: Codable, Equatable {
  var theme: String
  var size: Int
}

final class DictionaryTests: FileTestCase {
  func testValuesOfEachTypeAreReadBackFromTheFile() {
    let date = Date(timeIntervalSince1970: 1_000)
    var workspace = open()
    workspace.dictionary["bool", Bool.self] = true
    workspace.dictionary["int", Int.self] = -5
    workspace.dictionary["uint", UInt.self] = .max
    workspace.dictionary["float", Float.self] = 1.5
    workspace.dictionary["double", Double.self] = 0.1
    workspace.dictionary["string", String.self] = "text"
    workspace.dictionary["settings", Settings.self] = Settings(theme: "dark", size: 12)
    workspace.dictionary["date", Date.self] = date
    workspace.dictionary["content", TextContent.self] = TextContent(text: "payload")
    workspace.dictionary.synchronize()
    workspace.shutdown()
    workspace = open()
    let dictionary = workspace.dictionary
    XCTAssertEqual(dictionary["bool", Bool.self], true)
    XCTAssertEqual(dictionary["int", Int.self], -5)
    XCTAssertEqual(dictionary["uint", UInt.self], .max)
    XCTAssertEqual(dictionary["float", Float.self], 1.5)
    XCTAssertEqual(dictionary["double", Double.self], 0.1)
    XCTAssertEqual(dictionary["string", String.self], "text")
    XCTAssertEqual(dictionary["settings", Settings.self], Settings(theme: "dark", size: 12))
    XCTAssertEqual(dictionary["date", Date.self], date)
    XCTAssertEqual(dictionary["content", TextContent.self], TextContent(text: "payload"))
    XCTAssertEqual(dictionary["absent", default: 7], 7)
    XCTAssertNil(dictionary["string", Int.self], "a value of another type")
    XCTAssertEqual(Set(dictionary.keys).count, 9)
  }

  func testValueThatWasNeverReadIsRemoved() {
    var workspace = open()
    workspace.dictionary["key", Int.self] = 1
    workspace.shutdown()
    workspace = open()
    workspace.dictionary["key", Int.self] = nil
    workspace.shutdown()
    workspace = open()
    XCTAssertNil(workspace.dictionary["key", Int.self])
  }

  func testSubscriptionIsCalledOnTheThreadThatSets() {
    let workspace = open()
    let thread = Thread.current
    let changes = Shared<[SubscribedDictionaryValue<Int>]>([])
    let subscription = workspace.dictionary.subscribe("key", of: Int.self) { change in
      XCTAssertTrue(Thread.current === thread)
      changes.change { $0.append(change) }
    }
    XCTAssertEqual(changes.value, [.initial(nil)])
    workspace.dictionary["key"] = 1
    workspace.dictionary["key"] = 1
    workspace.dictionary["key"] = 2
    workspace.dictionary["key", Int.self] = nil
    workspace.dictionary["key"] = 3
    workspace.dictionary.removeAll()
    XCTAssertEqual(
      changes.value, [.initial(nil), .updated(1), .updated(2), .deleted, .updated(3), .deleted])
    subscription.cancel()
    workspace.dictionary["key"] = 4
    XCTAssertEqual(changes.value.count, 6)
  }

  func testDictionaryAnswersFromMemoryAfterTheShutdown() {
    let workspace = open()
    workspace.dictionary["a"] = 1
    workspace.shutdown()
    XCTAssertEqual(workspace.dictionary["a", Int.self], 1)
    workspace.dictionary["b"] = 2
    XCTAssertEqual(workspace.dictionary["b", Int.self], 2)
    let again = open()
    XCTAssertEqual(again.dictionary["a", Int.self], 1)
    XCTAssertNil(again.dictionary["b", Int.self])
  }

  func testSetsAfterTheShutdownReachSubscribers() {
    let workspace = open()
    let changes = Shared<[SubscribedDictionaryValue<Int>]>([])
    workspace.dictionary["key"] = 1
    let subscription = workspace.dictionary.subscribe("key", of: Int.self) { change in
      changes.change { $0.append(change) }
    }
    workspace.shutdown()
    workspace.dictionary["key"] = 1
    workspace.dictionary["key"] = 2
    workspace.dictionary["key", Int.self] = nil
    let late = Shared<[SubscribedDictionaryValue<Int>]>([])
    let other = workspace.dictionary.subscribe("key", of: Int.self) { change in
      late.change { $0.append(change) }
    }
    workspace.dictionary["key"] = 3
    workspace.dictionary.removeAll()
    XCTAssertEqual(
      changes.value, [.initial(1), .updated(2), .deleted, .updated(3), .deleted])
    XCTAssertEqual(late.value, [.initial(nil), .updated(3), .deleted])
    subscription.cancel()
    other.cancel()
    workspace.dictionary["key"] = 4
    XCTAssertEqual(changes.value.count, 5)
  }

  func testRowsOfTheDictionaryAreObjects() {
    let workspace = open()
    workspace.dictionary["number"] = 7
    workspace.dictionary["text"] = "seven"
    workspace.dictionary.synchronize()
    let items = workspace.fetch(for: DictItem.self).all(orderBy: [DictItem.key.ascending])
    XCTAssertEqual(items.map(\.key), ["number", "text"])
    XCTAssertEqual(items[0].valueType, .longValue)
    XCTAssertEqual(items[0].longValue, 7)
    XCTAssertEqual(items[1].stringValue, "seven")
  }

  func testDefaultIsNotStored() {
    let workspace = open()
    XCTAssertEqual(workspace.dictionary["key", default: 7], 7)
    XCTAssertEqual(workspace.dictionary["key", default: "text"], "text")
    XCTAssertNil(workspace.dictionary["key", Int.self])
    XCTAssertEqual(workspace.dictionary.keys, [])
    let inferred: Int? = workspace.dictionary["key"]
    XCTAssertNil(inferred)
  }

  func testPayloadOfAnotherVersionIsNone() {
    let workspace = open()
    let errors = Shared(0)
    workspace.onError = { _ in errors.change { $0 += 1 } }
    let monster = MyGame.Sample.Monster(name: "a", color: .red)
    workspace.dictionary["key", MyGame.Sample.Monster.self] = monster
    XCTAssertEqual(workspace.dictionary["key", MyGame.Sample.Monster.self], monster)
    XCTAssertNil(workspace.dictionary["key", TextContent.self])
    XCTAssertEqual(errors.value, 0, "another version is no error")
  }

  func testRemoveAllIsDeliveredToEachSubscribedKey() {
    let workspace = open()
    workspace.dictionary["set"] = 1
    let events = Shared<[String]>([])
    let subscriptions = ["set", "absent"].map { key in
      workspace.dictionary.subscribe(key, of: Int.self) { change in
        if case .deleted = change { events.change { $0.append(key) } }
      }
    }
    workspace.dictionary.removeAll()
    XCTAssertEqual(Set(events.value), ["set", "absent"])
    XCTAssertEqual(workspace.dictionary.keys, [])
    subscriptions.forEach { $0.cancel() }
  }

  func testValuesAfterRemoveAllAreThoseThatWereSet() {
    var workspace = open()
    workspace.dictionary["a", Settings.self] = Settings(theme: "dark", size: 1)
    workspace.dictionary["b", Settings.self] = Settings(theme: "light", size: 2)
    workspace.dictionary.removeAll()
    XCTAssertNil(workspace.dictionary["a", Settings.self])
    workspace.dictionary["a", Settings.self] = Settings(theme: "dark", size: 1)
    workspace.shutdown()
    workspace = open()
    XCTAssertEqual(workspace.dictionary["a", Settings.self], Settings(theme: "dark", size: 1))
    XCTAssertNil(workspace.dictionary["b", Settings.self])
  }

  /// The encoding of a dictionary has its keys in any order.
  func testEqualValueIsNeitherWrittenNorDelivered() {
    let workspace = open()
    let numbers = (0..<50).map { ("key \($0)", $0) }
    let (one, other) = (
      Dictionary(uniqueKeysWithValues: numbers),
      Dictionary(uniqueKeysWithValues: numbers.reversed())
    )
    workspace.dictionary["map", [String: Int].self] = one
    let events = Shared(0)
    let subscription = workspace.dictionary.subscribe("map", of: [String: Int].self) { _ in
      events.change { $0 += 1 }
    }
    var roomy = other
    roomy.reserveCapacity(10_000)
    workspace.dictionary["map", [String: Int].self] = roomy
    XCTAssertEqual(events.value, 1, "the initial value")
    workspace.dictionary["map", [String: Int].self] = ["key": 1]
    XCTAssertEqual(events.value, 2)
    subscription.cancel()
  }

  func testStreamOfAKeyHasThePresentValueFirst() async {
    let workspace = open()
    workspace.dictionary["key"] = 1
    let all = workspace.dictionary.subscribe("key", of: Int.self, bufferingPolicy: .unbounded)
    let newest = workspace.dictionary.subscribe("key", of: Int.self)
    workspace.dictionary["key"] = 2
    workspace.dictionary["key", Int.self] = nil
    workspace.dictionary["key"] = 3
    var values: [Int?] = []
    for await value in all {
      values.append(value)
      if values.count == 4 { break }
    }
    XCTAssertEqual(values, [1, 2, nil, 3])
    for await value in newest {
      XCTAssertEqual(value, 3)
      break
    }
  }

  func testSubscriptionsThatThrow() throws {
    let workspace = open()
    let dictionary = workspace.throwingDictionary
    workspace.dictionary["text"] = "a"
    XCTAssertThrowsError(try dictionary.subscribe("text", of: Int.self) { _ in XCTFail("called") })
    let changes = Shared<[SubscribedDictionaryValue<String>]>([])
    let subscription = try dictionary.subscribe("text", of: String.self) { change in
      changes.change { $0.append(change) }
    }
    try dictionary.set("text", "b")
    XCTAssertEqual(changes.value, [.initial("a"), .updated("b")])
    subscription.cancel()
  }

  func testSetsOfManyThreadsAreAllKept() {
    let workspace = open()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<50 { workspace.dictionary["\(thread) \(number)"] = number }
    }
    XCTAssertEqual(workspace.dictionary.keys.count, 400)
    workspace.dictionary.synchronize()
    XCTAssertEqual(workspace.fetch(for: DictItem.self).all().count, 400)
  }

  /// Two keys that differ in their Unicode form only are two keys, as in the engine.
  func testKeysAreComparedByTheirBytes() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let workspace = open()
    var dictionary = workspace.dictionary
    dictionary[composed, Int.self] = 1
    dictionary[decomposed, Int.self] = 2
    let calls = Shared<[String]>([])
    let subscriptions = [composed, decomposed].map { key in
      dictionary.subscribe(key, of: Int.self) { change in
        if case .updated(let value) = change {
          calls.change { $0.append("\(key.utf8.count) \(value)") }
        }
      }
    }
    func expect(_ first: Int, _ second: Int, line: UInt = #line) {
      XCTAssertEqual(dictionary.keys.map(\.utf8.count).sorted(), [5, 6], line: line)
      XCTAssertEqual(dictionary[composed, Int.self], first, line: line)
      XCTAssertEqual(dictionary[decomposed, Int.self], second, line: line)
    }
    expect(1, 2)
    workspace.shutdown()
    expect(1, 2)
    dictionary[composed, Int.self] = 3
    expect(3, 2)
    XCTAssertEqual(calls.value, ["5 3"])
    subscriptions.forEach { $0.cancel() }
  }

  func testTextThatChangesInItsUnicodeFormIsDelivered() {
    let workspace = open()
    let texts = Shared<[Int]>([])
    let subscription = workspace.dictionary.subscribe("a", of: String.self) { change in
      if case .updated(let text) = change { texts.change { $0.append(text.utf8.count) } }
    }
    for _ in 0..<2 {
      workspace.dictionary["a", String.self] = "caf\u{e9}"
      workspace.dictionary["a", String.self] = "cafe\u{301}"
      workspace.shutdown()
    }
    XCTAssertEqual(texts.value, [5, 6, 5, 6])
    subscription.cancel()
  }
}
