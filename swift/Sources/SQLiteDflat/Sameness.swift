import Dflat
import FlatBuffers

/// Whether two objects have the same values, texts by their bytes, as the engine compares objects.
/// Generated code compares texts as Swift does: they are equal also if they differ in their Unicode
/// form only.
func isSame<Element: Atom & Equatable>(_ a: Element, _ b: Element) -> Bool {
  if a === b { return true }
  if let a = (a as? any SQLiteAtom)?._stored.bytes, let b = (b as? any SQLiteAtom)?._stored.bytes,
    !a.isEmpty, a.elementsEqual(b)
  {
    return true
  }
  guard a == b else { return false }
  guard let a = a as? FlatBuffersEncodable, let b = b as? FlatBuffersEncodable else { return true }
  return encoded(a).elementsEqual(encoded(b))
}

/// Whether two results have the same objects in the same order.
func isSame<Element: Atom & Equatable>(
  _ a: FetchedResult<Element>, _ b: FetchedResult<Element>
) -> Bool {
  a === b || a.count == b.count && zip(a, b).allSatisfy { isSame($0, $1) }
}

/// The values of an object as generated code writes them.
private func encoded(_ object: FlatBuffersEncodable) -> [UInt8] {
  var builder = FlatBufferBuilder()
  let root = object.to(flatBufferBuilder: &builder)
  builder.finish(offset: root)
  return builder.sizedByteArray
}
