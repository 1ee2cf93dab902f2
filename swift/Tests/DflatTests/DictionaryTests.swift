import Dflat
import Foundation
import Generated_bench_doc
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
}
