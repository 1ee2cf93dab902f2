import FlatBuffers

/// How a text is compared with another.
public enum TextTest: UInt8, Sendable {
  case startsWith = 1
  case endsWith = 2
  case contains = 3
  /// `%` stands for any characters, `_` for one, and a backslash makes the next one literal.
  case like = 4
}

/// Whether a text passes a test; nil if the text is missing.
public struct TextTestExpr<T: Expr, Element>: Expr
where T.ResultType == String, T.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let unary: T
  let test: TextTest
  let text: String
  let ignoresCase: Bool

  public func evaluate(object: Element) -> ResultType? {
    unary.evaluate(object: object).map(passes)
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    unary.evaluate(byteBuffer: byteBuffer).map(passes)
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    whole(unary.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    unary.existingIndex(&existingIndexes)
  }

  private func passes(_ value: String) -> Bool {
    let value = characters(value)
    switch test {
    case .startsWith: return value.starts(with: characters(text))
    case .endsWith: return value.reversed().starts(with: characters(text).reversed())
    case .contains:
      let part = characters(text)
      return part.isEmpty || value.indices.contains { value[$0...].starts(with: part) }
    case .like: return isLike(value, pattern)
    }
  }

  private func characters(_ value: String) -> [Unicode.Scalar] {
    value.unicodeScalars.map { ignoresCase ? folded($0) : $0 }
  }

  /// The parts of the form; a backslash makes the next character literal.
  private var pattern: [PatternPart] {
    var parts: [PatternPart] = []
    var isLiteral = false
    for scalar in text.unicodeScalars {
      switch (isLiteral, scalar) {
      case (false, "\\"):
        isLiteral = true
        continue
      case (false, "%"): parts.append(.any)
      case (false, "_"): parts.append(.one)
      default: parts.append(.literal(ignoresCase ? folded(scalar) : scalar))
      }
      isLiteral = false
    }
    return parts
  }
}

private enum PatternPart: Equatable {
  case any
  case one
  case literal(Unicode.Scalar)
}

/// The lower case of the upper case, by mappings of one character to one, as in the engine.
private func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
  func single(_ mapped: String, _ scalar: Unicode.Scalar) -> Unicode.Scalar {
    let mapped = mapped.unicodeScalars
    return mapped.count == 1 ? mapped.first ?? scalar : scalar
  }
  let upper = single(scalar.properties.uppercaseMapping, scalar)
  return single(upper.properties.lowercaseMapping, upper)
}

private func isLike(_ value: [Unicode.Scalar], _ pattern: [PatternPart]) -> Bool {
  var (at, place) = (0, 0)
  // Where the text goes on if the characters for the last `%` were too few.
  var again: (at: Int, place: Int)?
  while at < value.count {
    if place < pattern.count, pattern[place] == .any {
      place += 1
      again = (at, place)
    } else if place < pattern.count,
      pattern[place] == .one || pattern[place] == .literal(value[at])
    {
      (at, place) = (at + 1, place + 1)
    } else if let last = again {
      again = (last.at + 1, last.place)
      (at, place) = (last.at + 1, last.place)
    } else {
      return false
    }
  }
  return pattern[place...].allSatisfy { $0 == .any }
}

extension TextTestExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(4)
    guard Dflat.encodeValue(unary, &bytes) else { return false }
    bytes.byte(test.rawValue)
    bytes.string(text)
    bytes.byte(ignoresCase ? 1 : 0)
    return true
  }
}

extension TextTestExpr: SQLiteExpr where T: SQLiteExpr {
  /// The engine has these tests, and SQL has none of them with the same answers.
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    preconditionFailure("a test of a text has no form in SQL")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {}
}

extension Expr where ResultType == String {
  /// Whether the text has a form in which `%` stands for any characters, and `_` for one.
  public func like(_ pattern: String, ignoringCase: Bool = false) -> TextTestExpr<Self, Element> {
    TextTestExpr(unary: self, test: .like, text: pattern, ignoresCase: ignoringCase)
  }

  /// Whether the text begins with another.
  public func startsWith(_ text: String, ignoringCase: Bool = false) -> TextTestExpr<Self, Element>
  {
    TextTestExpr(unary: self, test: .startsWith, text: text, ignoresCase: ignoringCase)
  }

  /// Whether the text ends with another.
  public func endsWith(_ text: String, ignoringCase: Bool = false) -> TextTestExpr<Self, Element> {
    TextTestExpr(unary: self, test: .endsWith, text: text, ignoresCase: ignoringCase)
  }

  /// Whether the text contains another.
  public func contains(_ text: String, ignoringCase: Bool = false) -> TextTestExpr<Self, Element> {
    TextTestExpr(unary: self, test: .contains, text: text, ignoresCase: ignoringCase)
  }
}
