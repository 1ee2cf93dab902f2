/// A key of the dictionary. Two keys are equal if their bytes are, as in the engine; texts of Swift
/// are equal also if they differ in their Unicode form only.
struct EntryKey: Hashable, Sendable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.hasSameBytes(as: rhs.text) }

  func hash(into hasher: inout Hasher) {
    var copy = text
    copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension String {
  /// Whether another text has the same bytes, and not only the same characters.
  func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
