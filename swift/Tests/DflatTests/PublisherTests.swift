#if canImport(Combine)
  import Combine
  import Dflat
  import Foundation
  import Generated_bench_doc
  import SQLiteDflat
  import XCTest

  final class PublisherTests: FileTestCase {
    private func update(_ workspace: SQLiteWorkspace, _ title: String, priority: Int32) {
      workspace.wait([BenchDoc.self]) { context in
        guard let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: title)) else {
          return
        }
        request.priority = priority
        context.try(submit: request)
      }
    }

    func testObjectIsPublishedUntilItIsDeleted() {
      let workspace = open()
      workspace.insert(["a"])
      let events = Shared<[String]>([])
      let object = workspace.fetch(for: BenchDoc.self).all()[0]
      let cancellable = workspace.publisher(for: object).sink { _ in
        events.change { $0.append("finished") }
      } receiveValue: { change in
        switch change {
        case .updated(let object): events.change { $0.append("\(object.priority)") }
        case .deleted: events.change { $0.append("deleted") }
        }
      }
      update(workspace, "a", priority: 4)
      workspace.wait([BenchDoc.self]) { context in
        context.try(submit: BenchDocChangeRequest.deletionRequest(object)!)
      }
      XCTAssertEqual(events.value, ["4", "deleted", "finished"])
      cancellable.cancel()
    }

    func testQueryIsFetchedOnceAndFollowed() {
      let workspace = open()
      workspace.insert(["a", "b"])
      let results = Shared<[[String]]>([])
      let publisher = workspace.publisher(for: BenchDoc.self).where(
        BenchDoc.priority >= 1, orderBy: [BenchDoc.priority.descending])
      let cancellable = publisher.subscribe(on: DispatchQueue.global()).sink { posts in
        results.change { $0.append(posts.map(\.title)) }
      }
      update(workspace, "a", priority: 5)
      XCTAssertEqual(results.value, [["b"], ["a", "b"]])
      let late = Shared<[[String]]>([])
      let other = publisher.sink { posts in late.change { $0.append(posts.map(\.title)) } }
      workspace.wait([BenchDoc.self]) { _ in }
      XCTAssertEqual(late.value, [["b"], ["a", "b"]], "the shared result, then what changed since")
      cancellable.cancel()
      other.cancel()
      update(workspace, "b", priority: 9)
      XCTAssertEqual(results.value.count, 2)
      XCTAssertEqual(late.value.count, 2)
    }

    func testResultIsPublishedWhenItChanges() {
      let workspace = open()
      let counts = Shared<[Int]>([])
      let cancellable = workspace.publisher(for: workspace.fetch(for: BenchDoc.self).all())
        .sink { result in counts.change { $0.append(result.count) } }
      workspace.insert(["a"])
      workspace.insert(["b"])
      XCTAssertEqual(counts.value, [1, 2])
      cancellable.cancel()
    }

    func testValuesOfTheDictionaryArePublished() {
      let workspace = open()
      workspace.dictionary["key"] = 1
      let values = Shared<[SubscribedDictionaryValue<Int>]>([])
      let cancellable = workspace.dictionary.publisher("key", of: Int.self).sink { value in
        values.change { $0.append(value) }
      }
      workspace.dictionary["key"] = 2
      workspace.dictionary["key", Int.self] = nil
      XCTAssertEqual(values.value, [.initial(1), .updated(2), .deleted])
      cancellable.cancel()
      workspace.dictionary["key"] = 3
      XCTAssertEqual(values.value.count, 3)
    }
  }
#endif
