import Foundation

/// An object as the context of a callback of the C interface, which `released` takes back.
func context(_ object: AnyObject) -> UnsafeMutableRawPointer {
  let context = Unmanaged.passRetained(object).toOpaque()
  order(context)
  return context
}

/// Calls a function with the object that a callback's context is.
func withLent<T: AnyObject, R>(
  _ context: UnsafeMutableRawPointer?, as: T.Type, _ body: (T) -> R
) -> R {
  order(context)
  defer { order(context) }
  return body(Unmanaged<T>.fromOpaque(context!).takeUnretainedValue())
}

/// Takes the object back that a callback's context is.
func released(_ context: UnsafeMutableRawPointer?) {
  order(context)
  if let context = context {
    Unmanaged<AnyObject>.fromOpaque(context).release()
  }
}

#if DFLAT_SANITIZED
  private let locks = (0..<256).map { _ in NSLock() }

  /// The thread sanitizer does not see that the C library, which is not compiled for it, orders the
  /// uses of a context by several threads. It sees this lock.
  private func order(_ context: UnsafeMutableRawPointer?) {
    locks[(Int(bitPattern: context) >> 4) & 255].withLock {}
  }
#else
  @inline(__always)
  private func order(_ context: UnsafeMutableRawPointer?) {}
#endif
