import FlatBuffers

/// The number of stored values that a new value is compared with, between the ends that match.
private let window = 64

/// The members of a stored vector, each with its place. A member without a value, or with one of a
/// newer schema, is nil. For generated code.
public typealias _StoredMembers<T> = [(value: T, place: _PayloadReader)?]

extension _PayloadReader {
  /// The members of a vector of unions.
  public func storedMembers<T>(
    _ at: Int, make: (UInt8, _PayloadReader) -> T?
  ) -> _StoredMembers<T> {
    guard let (start, count) = vector(at, size: 4) else { return [] }
    let codes = numbers(at - 2, as: UInt8.self)
    return (0..<min(count, codes.count)).map { index in
      guard codes[index] != 0, let found = payload.target(start + index * 4) else { return nil }
      let place = inline(found)
      return make(codes[index], place).map { ($0, place) }
    }
  }

  /// The members of a vector of tables.
  public func storedTables<T>(_ at: Int, make: (_PayloadReader) -> T) -> _StoredMembers<T> {
    references(at).map {
      let place = nested($0)
      return (make(place), place)
    }
  }
}

/// A member of a vector that is written over a stored one: a value, and the stored member that it
/// equals or changes.
private typealias Overlaid<T> = (value: T, stored: (value: T, place: _PayloadReader)?)

/// The values of a vector, and nil for each stored member that the program does not see, beside the
/// values that it was stored beside. If the program has emptied the vector, there are none.
private func overlaid<T: Equatable>(
  _ values: [T], over stored: _StoredMembers<T>
) -> [Overlaid<T>?] {
  let known = stored.compactMap { $0 }
  if values.isEmpty, !known.isEmpty { return [] }
  var gaps: [Int] = []  // For each unseen member, the number of seen ones before it.
  var seen = 0
  for member in stored {
    if member == nil { gaps.append(seen) } else { seen += 1 }
  }
  var result: [Overlaid<T>?] = []
  var next = 0
  func addGaps(upTo position: Int) {
    while next < gaps.count, gaps[next] <= position {
      result.append(nil)
      next += 1
    }
  }
  addGaps(upTo: 0)
  for (value, origin) in zip(values, origins(of: values, in: known.map(\.value))) {
    if let origin = origin { addGaps(upTo: origin) }
    result.append((value, origin.map { known[$0] }))
    if let origin = origin { addGaps(upTo: origin + 1) }
  }
  addGaps(upTo: seen)
  return result
}

/// For each new value, the position of the old value that it equals or changes, as the engine
/// matches them: equal values at both ends and at the same place, then equal values anywhere, in
/// order. If none of the others are equal, and the vectors are as long, each is a changed value.
private func origins<T: Equatable>(of new: [T], in old: [T]) -> [Int?] {
  var origins = [Int?](repeating: nil, count: new.count)
  let shorter = min(old.count, new.count)
  var start = 0
  while start < shorter, old[start] == new[start] {
    origins[start] = start
    start += 1
  }
  var tail = 0
  while tail < shorter - start, old[old.count - 1 - tail] == new[new.count - 1 - tail] {
    tail += 1
    origins[new.count - tail] = old.count - tail
  }
  var left = Array(start..<old.count - tail)
  var others = Array(start..<new.count - tail)
  if old.count == new.count {
    for place in others where old[place] == new[place] { origins[place] = place }
    others.removeAll { origins[$0] != nil }
    left = others
  }
  let unmatched = others.filter { to in
    let found = left.prefix(window).firstIndex { old[$0] == new[to] }
    if let found = found { origins[to] = left.remove(at: found) }
    return found == nil
  }
  if old.count == new.count, unmatched.count == others.count {
    for place in unmatched { origins[place] = place }
  }
  return origins
}

extension FlatBufferBuilder {
  /// Writes a vector of tables over a stored one. For generated code.
  public mutating func createVector<T: Equatable>(
    ofTables values: [T], over stored: _StoredMembers<T>?,
    write: (T, _PayloadReader?, inout FlatBufferBuilder) -> Offset
  ) -> Offset {
    let matched = stored.map { origins(of: values, in: $0.compactMap { $0?.value }) }
    var offsets: [Offset] = []
    for (index, value) in values.enumerated() {
      let place = matched?[index].flatMap { stored?[$0]?.place }
      offsets.append(write(value, place, &self))
    }
    return createVector(ofOffsets: offsets)
  }

  /// Writes a vector of unions over a stored one, and the vector of their type codes. A stored
  /// member that the program does not see is written as an empty one: the engine then keeps the
  /// member that a newer program has stored. For generated code.
  public mutating func createVector<T: Equatable>(
    ofMembers values: [T], over stored: _StoredMembers<T>?, isRequired: Bool, code: (T) -> UInt8,
    write: (T, _PayloadReader?, inout FlatBufferBuilder) -> Offset
  ) -> (values: Offset, codes: Offset) {
    let members = overlaid(values, over: stored ?? [])
    if members.isEmpty {
      return (isRequired ? createVector(ofOffsets: []) : Offset(), Offset())
    }
    var offsets: [Offset?] = []
    for member in members {
      guard let (value, stored) = member else {
        offsets.append(nil)
        continue
      }
      let changed = stored.flatMap { code($0.value) == code(value) ? $0.place : nil }
      offsets.append(write(value, changed, &self))
    }
    let written = createVector(ofPossible: offsets)
    return (written, createVector(members.map { $0.map { code($0.value) } ?? 0 }))
  }

  /// Writes a vector of references, which are 0 for members without a value.
  private mutating func createVector(ofPossible offsets: [Offset?]) -> Offset {
    // The vector begins at the next position that its alignment allows.
    let end = (size + 3) & ~3
    let distances = offsets.enumerated().map { index, offset -> UInt32 in
      offset.map { end + 4 * UInt32(offsets.count - index) - $0.o } ?? 0
    }
    return createVector(distances)
  }
}
