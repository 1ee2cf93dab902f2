/// A step from an object to a field inside it. For generated code.
public enum _FieldStep: Sendable {
  /// A field of a table, by its vtable offset.
  case field(Int)
  /// A field of a struct, by its byte offset.
  case offset(Int)
  /// A member of a union, by its type code.
  case member(Int)
  /// The type code of a union.
  case tag
}

/// The type of a field as it is stored. For generated code.
public enum _FieldKind: UInt8, Sendable {
  case bool, byte, ubyte, short, ushort, int, uint, long, ulong, float, double
  case string
}

/// A field as the engine finds it. For generated code.
public struct _FieldPath: Sendable {
  let name: String
  let steps: [_FieldStep]
  let kind: _FieldKind
  let absent: _FieldDefault

  /// Creates the description of a field.
  public init(
    _ name: String, _ steps: [_FieldStep], _ kind: _FieldKind, absent: _FieldDefault = .null
  ) {
    self.name = name
    self.steps = steps
    self.kind = kind
    self.absent = absent
  }
}

/// The value of an absent field. For generated code.
public enum _FieldDefault: Sendable {
  case null
  case integer(Int64)
  case unsigned(UInt64)
  case number(Double)
  case string(String)
}

/// The bytes of a query, which docs/query-format.md describes.
struct QueryBytes {
  private(set) var bytes: [UInt8] = []

  mutating func byte(_ value: UInt8) {
    bytes.append(value)
  }

  mutating func append(_ other: QueryBytes) {
    bytes.append(contentsOf: other.bytes)
  }

  mutating func number(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func number(_ value: Int) {
    number(UInt64(value))
  }

  mutating func signed(_ value: Int64) {
    number(UInt64(bitPattern: value << 1 ^ value >> 63))
  }

  mutating func string(_ value: String) {
    number(value.utf8.count)
    bytes.append(contentsOf: value.utf8)
  }

  mutating func float(_ value: Double) {
    withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Writes a value; false if the engine has no such value.
  mutating func value(_ value: Any) -> Bool {
    switch value {
    case let value as Bool: integer(value ? 1 : 0)
    case let value as String:
      byte(4)
      string(value)
    case let value as Double: return number(value)
    case let value as Float: return number(Double(value))
    case let value as any BinaryInteger: integer(value)
    case let value as any RawRepresentable: return self.value(value.rawValue)
    default: return false
    }
    return true
  }

  private mutating func number(_ value: Double) -> Bool {
    guard !value.isNaN else { return false }
    byte(3)
    float(value)
    return true
  }

  private mutating func integer(_ value: some BinaryInteger) {
    if let value = Int64(exactly: value) {
      byte(1)
      signed(value)
    } else {
      byte(2)
      number(UInt64(truncatingIfNeeded: value))
    }
  }

  /// Writes the type of numbers that a computation has.
  mutating func domain<T>(of type: T.Type) {
    if type is any FloatingPoint.Type {
      byte(2)
    } else if type is any UnsignedInteger.Type {
      byte(1)
    } else {
      byte(0)
    }
  }

  mutating func field(_ path: _FieldPath) {
    string(path.name)
    number(path.steps.count)
    for step in path.steps {
      switch step {
      case .field(let at):
        byte(0)
        number(at)
      case .offset(let at):
        byte(1)
        number(at)
      case .member(let code):
        byte(2)
        number(code)
      case .tag: byte(3)
      }
    }
    if path.kind == .string {
      byte(1)
    } else {
      byte(0)
      byte(path.kind.rawValue)
    }
    switch path.absent {
    case .null: byte(0)
    case .integer(let value): integer(value)
    case .unsigned(let value): integer(value)
    case .number(let value):
      byte(3)
      float(value)
    case .string(let value):
      byte(4)
      string(value)
    }
  }
}
