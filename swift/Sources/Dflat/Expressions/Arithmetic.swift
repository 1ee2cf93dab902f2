/// The sum, unless it overflows.
func sum<T: AdditiveArithmetic>(_ left: T, _ right: T) -> T? {
  func integers<I: FixedWidthInteger>(_ left: I) -> T? {
    guard let right = right as? I else { return nil }
    let (result, overflow) = left.addingReportingOverflow(right)
    return overflow ? nil : result as? T
  }
  if let left = left as? any FixedWidthInteger { return integers(left) }
  return left + right
}

/// The difference, unless it overflows.
func difference<T: AdditiveArithmetic>(_ left: T, _ right: T) -> T? {
  func integers<I: FixedWidthInteger>(_ left: I) -> T? {
    guard let right = right as? I else { return nil }
    let (result, overflow) = left.subtractingReportingOverflow(right)
    return overflow ? nil : result as? T
  }
  if let left = left as? any FixedWidthInteger { return integers(left) }
  return left - right
}

/// The remainder, unless the right number is 0. The sign is that of the left number.
func remainder<T: BinaryInteger>(_ left: T, _ right: T) -> T? {
  if right == 0 { return nil }
  // The smallest number by -1 overflows, although the remainder is 0.
  return T.isSigned && right == 0 - 1 ? 0 : left % right
}
