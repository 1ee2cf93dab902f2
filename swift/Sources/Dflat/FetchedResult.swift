import Foundation

/// The number of objects of a result whose places are made together: a power of two.
private let partLength = 64

/// The locks of results. Many results share a lock: each delivery makes a result, and to make a
/// lock took longer than to make the rest of the result. They are plain locks, because a reference
/// to a lock object would be counted at each access.
///
/// Order: code that holds one of these locks waits for no other lock.
private struct Locks: @unchecked Sendable {
  let first: UnsafeMutablePointer<pthread_mutex_t>

  init(_ count: Int) {
    first = .allocate(capacity: count)
    first.initialize(repeating: pthread_mutex_t(), count: count)
    for number in 0..<count { pthread_mutex_init(first + number, nil) }
  }
}

private let locks = Locks(64)

/// The objects of a query as of one commit.
///
/// An object is made when it is accessed first, and kept: `result[0] === result[0]`.
open class FetchedResult<Element: Atom>: RandomAccessCollection, @unchecked Sendable {
  public typealias Element = Element
  public typealias Index = Int
  public typealias Indices = Range<Index>
  public typealias SubSequence = Array<Element>.SubSequence

  /// The objects that were accessed, in parts that are made when they are needed.
  private let made: UnsafeMutableBufferPointer<UnsafeMutablePointer<Element?>?>
  private let given: [Element]
  private let length: Int
  private let make: ((Int) -> Element)?
  /// The query and what else the library needs to subscribe to the result.
  public let _origin: AnyObject?

  /// Creates a result of objects, which no query belongs to.
  public init(_ array: [Element]) {
    made = UnsafeMutableBufferPointer(start: nil, count: 0)
    given = array
    length = array.count
    make = nil
    _origin = nil
  }

  /// Creates a result whose objects are made when they are accessed.
  public init(_count count: Int, origin: AnyObject?, make: @escaping (Int) -> Element) {
    made = .allocate(capacity: (count + partLength - 1) / partLength)
    made.initialize(repeating: nil)
    given = []
    length = count
    self.make = make
    _origin = origin
  }

  /// Creates a result of objects that a query belongs to.
  public init(_ array: [Element], origin: AnyObject?) {
    made = UnsafeMutableBufferPointer(start: nil, count: 0)
    given = array
    length = array.count
    make = nil
    _origin = origin
  }

  deinit {
    for case .some(let part) in made {
      part.deinitialize(count: partLength).deallocate()
    }
    made.deallocate()
  }

  /// All objects.
  public var underlyingArray: [Element] { indices.map { self[$0] } }

  public var startIndex: Index { 0 }
  public var endIndex: Index { length }
  public var indices: Indices { 0..<length }
  public func index(after i: Index) -> Index { i + 1 }
  public func index(before i: Index) -> Index { i - 1 }
  public func formIndex(after i: inout Index) { i += 1 }
  public func formIndex(before i: inout Index) { i -= 1 }

  public subscript(position: Index) -> Element {
    guard let make = make else { return given[position] }
    precondition(position >= 0 && position < length, "the result has no such position")
    let (number, place) = (position / partLength, position & (partLength - 1))
    let lock = locks.first + (Int(bitPattern: Unmanaged.passUnretained(self).toOpaque()) >> 6 & 63)
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    let part = made[number] ?? makePart(number)
    if let object = part[place] { return object }
    let object = make(position)
    part[place] = object
    return object
  }

  private func makePart(_ number: Int) -> UnsafeMutablePointer<Element?> {
    let part = UnsafeMutablePointer<Element?>.allocate(capacity: partLength)
    part.initialize(repeating: nil, count: partLength)
    made[number] = part
    return part
  }

  public subscript(x: Indices) -> SubSequence { underlyingArray[x] }
}

extension FetchedResult: Equatable where Element: Equatable {
  public static func == (lhs: FetchedResult<Element>, rhs: FetchedResult<Element>) -> Bool {
    lhs === rhs || lhs.count == rhs.count && lhs.elementsEqual(rhs)
  }
}
