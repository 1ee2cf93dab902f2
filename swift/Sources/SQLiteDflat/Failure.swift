import DflatC
import Foundation

/// An error of the engine.
public struct DflatError: Error, CustomStringConvertible, Sendable {
  /// The kind of the error, a number of the C interface such as `DFLAT_CORRUPT`.
  public let code: Int32
  /// The operation, the type, the key and the cause.
  public let message: String

  public var description: String { message }

  /// Reads an error that belongs to another owner.
  init(_ code: dflat_code, _ failure: OpaquePointer?) {
    self.code = code
    var text = dflat_text()
    if let failure = failure, dflat_error_message(failure, &text) == DFLAT_OK.code {
      message = String(text)
    } else {
      message = "error \(code)"
    }
  }

  init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }
}

extension BinaryInteger {
  /// The number as a code of the C interface.
  var code: Int32 { Int32(truncatingIfNeeded: self) }
}

extension RawRepresentable where RawValue: BinaryInteger {
  var code: Int32 { rawValue.code }
}

/// Calls a function of the C interface, and throws its error.
func call(_ function: (UnsafeMutablePointer<OpaquePointer?>) -> dflat_code) throws {
  var failure: OpaquePointer?
  let code = function(&failure)
  guard code != DFLAT_OK.code else { return }
  let error = DflatError(code, failure)
  dflat_error_release(failure)
  throw error
}

extension String {
  init(_ text: dflat_text) {
    self.init(decoding: UnsafeRawBufferPointer(start: text.data, count: text.length), as: UTF8.self)
  }

  /// Calls a function with the text in the form of the C interface.
  func withText<R>(_ body: (dflat_text) throws -> R) rethrows -> R {
    var copy = self
    return try copy.withUTF8 { try body(dflat_text(data: $0.baseAddress, length: $0.count)) }
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes in the form of the C interface.
  var lent: dflat_bytes {
    dflat_bytes(data: baseAddress?.assumingMemoryBound(to: UInt8.self), length: count)
  }
}

/// A handle of the C interface, which is released with its last owner.
final class Handle: @unchecked Sendable {
  let pointer: OpaquePointer
  private let release: (OpaquePointer?) -> dflat_code

  init(_ pointer: OpaquePointer, release: @escaping (OpaquePointer?) -> dflat_code) {
    self.pointer = pointer
    self.release = release
  }

  /// Takes the handle that a function of the C interface makes.
  convenience init(
    release: @escaping (OpaquePointer?) -> dflat_code,
    _ make: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<OpaquePointer?>)
      -> dflat_code
  ) throws {
    var made: OpaquePointer?
    try call { make(&made, $0) }
    guard let made = made else {
      throw DflatError(code: DFLAT_PANICKED.code, message: "the library made no handle")
    }
    self.init(made, release: release)
  }

  deinit {
    _ = release(pointer)
  }
}
