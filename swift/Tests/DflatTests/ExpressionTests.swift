import Dflat
import FlatBuffers
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLiteDflat
import XCTest

/// An object that a program makes for expressions only, as in the original's own tests.
private final class Point: Atom {
  var _rowid: Int64 = -1
  var _changesTimestamp: Int64 = -1
  static func from(byteBuffer: ByteBuffer) -> Self { Self() }
  static func verify(byteBuffer: ByteBuffer) -> Bool { true }
  static var flatBuffersSchemaVersion: String? { nil }
  var number: Int32?
  var flag: Bool?
  var text: String?

  init(number: Int32? = nil, flag: Bool? = nil, text: String? = nil) {
    self.number = number
    self.flag = flag
    self.text = text
  }
}

private func field<T>(
  _ name: String, indexed: Bool = false, primary: Bool = false, _ read: @escaping (Point) -> T?
) -> FieldExpr<T, Point> {
  FieldExpr(
    name: name, primaryKey: primary, hasIndex: indexed, tableReader: { _ in nil },
    objectReader: read)
}

/// The rules of expressions that are evaluated on objects and on bytes.
final class ExpressionTests: XCTestCase {
  private let number = field("number", { $0.number })
  private let flag = field("flag", { $0.flag })
  private let text = field("text", { $0.text })

  func testLogicHasThreeValues() {
    let values: [Bool?] = [true, false, nil]
    for left in values {
      for right in values {
        let (one, other) = (field("l", { _ in left }), field("r", { _ in right }))
        let both = (one && other).evaluate(object: Point())
        let either = (one || other).evaluate(object: Point())
        let isFalse = left == false || right == false
        let isTrue = left == true || right == true
        let isUnknown = left == nil || right == nil
        XCTAssertEqual(both, isFalse ? false : isUnknown ? nil : true, "\(left as Any) \(right as Any)")
        XCTAssertEqual(either, isTrue ? true : isUnknown ? nil : false, "\(left as Any) \(right as Any)")
        XCTAssertEqual((!one).evaluate(object: Point()), left.map { !$0 })
        XCTAssertEqual((one && true).evaluate(object: Point()), left)
        XCTAssertEqual((false || other).evaluate(object: Point()), right)
      }
    }
  }

  func testMissingValuesMakeComparisonsAndComputationsUnknown() {
    let none = Point()
    XCTAssertNil((number == 1).evaluate(object: none))
    XCTAssertNil((number != 1).evaluate(object: none))
    XCTAssertNil((1 < number).evaluate(object: none))
    XCTAssertNil((number >= 1).evaluate(object: none))
    XCTAssertNil((number + 1).evaluate(object: none))
    XCTAssertNil((1 - number).evaluate(object: none))
    XCTAssertNil((number % 2).evaluate(object: none))
    XCTAssertNil(number.in([1]).evaluate(object: none))
    XCTAssertNil(number.notIn([1]).evaluate(object: none))
    XCTAssertEqual(number.isNull.evaluate(object: none), true)
    XCTAssertEqual(number.isNotNull.evaluate(object: none), false)
    XCTAssertEqual((number == 1).isNull.evaluate(object: none), true)
  }

  func testValuesAreComparedAndComputed() {
    let point = Point(number: 7, flag: true, text: "b")
    XCTAssertEqual((number + 3).evaluate(object: point), 10)
    XCTAssertEqual((10 - number).evaluate(object: point), 3)
    XCTAssertEqual((number % 4).evaluate(object: point), 3)
    XCTAssertEqual((15 % number).evaluate(object: point), 1)
    XCTAssertEqual((number > 6 && number <= 7).evaluate(object: point), true)
    XCTAssertEqual((text >= "a" && text < "c").evaluate(object: point), true)
    XCTAssertEqual(("a" != text).evaluate(object: point), true)
    XCTAssertEqual(number.in([1, 7]).evaluate(object: point), true)
    XCTAssertEqual(number.notIn([]).evaluate(object: point), true)
    XCTAssertEqual(AnySQLiteExpr(number == 7).evaluate(object: point), true)
  }

  /// The original's `Bool <` is `lhs == false`.
  func testFalseIsLessThanTrueOnly() {
    let pairs = [(false, true, true), (false, false, false), (true, true, false), (true, false, false)]
    for (left, right, expected) in pairs {
      XCTAssertEqual(left < right, expected)
      XCTAssertEqual((flag < right).evaluate(object: Point(flag: left)), expected)
    }
  }

  func testUsefulnessOfIndexes() {
    let indexed = field("indexed", indexed: true, { $0.number })
    let key = field("__pk0", primary: true, { $0.number })
    func survey(full: Set<String> = [], partial: Set<String> = []) -> IndexSurvey {
      var survey = IndexSurvey()
      survey.full = full
      survey.partial = partial
      return survey
    }
    let (full, partial) = (survey(full: ["indexed"]), survey(partial: ["indexed"]))
    let none = survey()
    func check<E: Expr>(
      _ expression: E, _ expected: [IndexUsefulness], line: UInt = #line
    ) {
      let found = [full, partial, none].map { expression.canUsePartialIndex($0) }
      XCTAssertEqual(found, expected, line: line)
    }
    check(key, [.full, .full, .full])
    check(indexed, [.full, .partial, .none])
    check(number, [.none, .none, .none])
    check(indexed == 1, [.full, .partial, .none])
    check(indexed < key, [.full, .partial, .none])
    check(indexed == number, [.none, .none, .none])
    check(indexed == 1 && key == 1, [.full, .partial, .partial])
    check(indexed == 1 && number == 1, [.partial, .partial, .none])
    check(indexed == 1 || key == 1, [.full, .none, .none])
    check(!(indexed == 1), [.full, .none, .none])
    check(indexed + 1, [.full, .none, .none])
    check(indexed % 2, [.full, .none, .none])
    check(indexed.in([1]), [.full, .none, .none])
    check(indexed.isNull, [.full, .none, .none])
    check(indexed.isNotNull, [.full, .none, .none])
    var names = Set<String>()
    (indexed == 1 && number == 2 && key == 3).existingIndex(&names)
    XCTAssertEqual(names, ["indexed"])
  }

  func testConditionIsWrittenAsSQL() {
    let indexed = field("f6", indexed: true, { $0.number })
    var (query, count) = ("", Int32(0))
    (indexed > 1 && !indexed.in([2, 3])).buildWhereQuery(
      indexSurvey: {
        var survey = IndexSurvey()
        survey.full = ["f6"]
        return survey
      }(), query: &query, parameterCount: &count)
    XCTAssertEqual(count, 3)
    for part in ["f6", "?1", "?2", "?3", "AND", "NOT", "IN"] {
      XCTAssertTrue(query.contains(part), "\(part): \(query)")
    }
  }

  func testOrdersCompareObjects() {
    let ascending = number.ascending
    XCTAssertEqual(ascending.name, "number")
    XCTAssertEqual(ascending.sortingOrder, .ascending)
    XCTAssertEqual(number.descending.sortingOrder, .descending)
    let (one, two, none) = (Point(number: 1), Point(number: 2), Point())
    XCTAssertEqual(ascending.areInSortingOrder(one, two), .ascending)
    XCTAssertEqual(ascending.areInSortingOrder(two, one), .descending)
    XCTAssertEqual(ascending.areInSortingOrder(one, one), .same)
    XCTAssertEqual(ascending.areInSortingOrder(none, one), .ascending, "a missing value is least")
    XCTAssertEqual(number.descending.areInSortingOrder(two, one), .ascending)
    XCTAssertEqual(number.descending.areInSortingOrder(one, none), .ascending)
    let list = [2, 1].firstIndex(of: number) as OrderBy<Point>
    XCTAssertEqual(list.areInSortingOrder(two, one), .ascending)
    XCTAssertEqual(list.areInSortingOrder(none, Point(number: 9)), .ascending)
    XCTAssertEqual(list.areInSortingOrder(Point(number: 9), two), .ascending)
  }

  func testFieldsOfNestedValuesAreReadFromBytes() {
    typealias Monster = MyGame.Sample.Monster
    let monster = Monster(
      name: "a", color: .red, pos: MyGame.Sample.Vec3(x: 2),
      equipped: .orb(MyGame.Sample.Orb(name: "o")), profile: MyGame.Sample.Profile(url: "u"))
    let bytes = ByteBuffer(data: monster.toData())
    let empty = ByteBuffer(data: Monster(name: "", color: .red).toData())
    XCTAssertEqual((Monster.pos.x > 1).evaluate(byteBuffer: bytes), true)
    XCTAssertNil((Monster.pos.x > 1).evaluate(byteBuffer: empty))
    XCTAssertEqual((Monster.profile.url == "u").evaluate(byteBuffer: bytes), true)
    XCTAssertEqual(Monster.equipped.match(MyGame.Sample.Orb.self).evaluate(byteBuffer: bytes), true)
    let orb = Monster.equipped.as(MyGame.Sample.Orb.self)
    XCTAssertEqual((orb.name == "o").evaluate(byteBuffer: bytes), true)
    XCTAssertNil(Monster.equipped.as(MyGame.Sample.Weapon.self).name.evaluate(byteBuffer: bytes))
    XCTAssertEqual(Monster.mana.evaluate(byteBuffer: empty), 150)
    XCTAssertEqual(Monster.equipped._type.evaluate(byteBuffer: empty), 0)
  }
}
