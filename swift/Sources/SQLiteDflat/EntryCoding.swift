import Dflat
import DflatC
import FlatBuffers
import Foundation

/// How values of a type are stored in the dictionary.
struct EntryCoding<T: Equatable> {
  /// Whether equal values may have different bytes.
  var hasSeveralForms = false
  let encode: (T) throws -> EntryValue
  /// Nil for a value of another version of the schema.
  let decode: (EntryValue) throws -> T?
}

/// The error of a value that has another type.
private func mismatch<T>(_ value: EntryValue, _ type: T.Type) -> DflatError {
  DflatError(
    code: DFLAT_WRONG_TYPE.code, message: "cannot read \(type): the value is \(value.kindName)")
}

extension EntryCoding where T == Bool {
  static var bool: Self {
    Self(encode: { .bool($0) }) { value in
      guard case .bool(let found) = value else { throw mismatch(value, T.self) }
      return found
    }
  }
}

extension EntryCoding where T == Int {
  static var int: Self {
    Self(encode: { .int(Int64($0)) }) { value in
      guard case .int(let found) = value, let found = Int(exactly: found) else {
        throw mismatch(value, T.self)
      }
      return found
    }
  }
}

extension EntryCoding where T == UInt {
  static var uint: Self {
    Self(encode: { .uint(UInt64($0)) }) { value in
      guard case .uint(let found) = value, let found = UInt(exactly: found) else {
        throw mismatch(value, T.self)
      }
      return found
    }
  }
}

extension EntryCoding where T == Float {
  static var float: Self {
    Self(encode: { .float($0) }) { value in
      guard case .float(let found) = value else { throw mismatch(value, T.self) }
      return found
    }
  }
}

extension EntryCoding where T == Double {
  static var double: Self {
    Self(encode: { .double($0) }) { value in
      guard case .double(let found) = value else { throw mismatch(value, T.self) }
      return found
    }
  }
}

extension EntryCoding where T == String {
  static var string: Self {
    Self(encode: { .string($0) }) { value in
      guard case .string(let found) = value else { throw mismatch(value, T.self) }
      return found
    }
  }
}

extension EntryCoding where T: Codable {
  /// A property list has a list or a dictionary at its top. Any other value is stored in a list.
  static var codable: Self {
    Self(hasSeveralForms: true, encode: { value in
      let encoder = PropertyListEncoder()
      encoder.outputFormat = .binary
      do {
        return .codable(try encoder.encode(value))
      } catch {
        guard let data = try? encoder.encode([value]) else { throw error }
        return .codable(data)
      }
    }) { value in
      guard case .codable(let data) = value else { throw mismatch(value, T.self) }
      let decoder = PropertyListDecoder()
      do {
        return try decoder.decode(T.self, from: data)
      } catch {
        guard let list = try? decoder.decode([T].self, from: data), list.count == 1 else {
          throw error
        }
        return list[0]
      }
    }
  }
}

extension EntryCoding where T: FlatBuffersCodable {
  static var flatBuffers: Self {
    Self(hasSeveralForms: true, encode: { value in
      var builder = FlatBufferBuilder(initialSize: 256)
      let root = value.to(flatBufferBuilder: &builder)
      builder.finish(offset: root)
      return .flatBuffers(builder.data, version: T.flatBuffersSchemaVersion)
    }) { value in
      guard case .flatBuffers(let data, let version) = value else {
        throw mismatch(value, T.self)
      }
      guard version == T.flatBuffersSchemaVersion else { return nil }
      let buffer = ByteBuffer(data: data)
      guard T.verify(byteBuffer: buffer) else {
        throw DflatError(
          code: DFLAT_CORRUPT.code, message: "cannot read \(T.self): the payload is damaged")
      }
      return T.from(byteBuffer: buffer)
    }
  }
}
