import Dflat
import Foundation
import Generated_hidden
import SQLiteDflat
import XCTest

/// A program may have types with the names of Swift's and of the library's.
final class HiddenNameTests: FileTestCase {
  func testTypesMayHaveTheNamesOfTheLibrary() {
    let workspace = open()
    workspace.wait([FlatBuffer.self]) { context in
      let request = FlatBufferChangeRequest.creationRequest()
      request.id = "a"
      request.payload = Payload(payload: "inner")
      request.data = Generated_hidden.Data(bytes: [1, 2], text: "text", flag: .no)
      request.value = .int32(Generated_hidden.Int32(number: 5))
      request.writers = [StructWriter(at: 3)]
      context.try(submit: request)
    }
    let found = workspace.fetch(for: FlatBuffer.self).where(FlatBuffer.data.text == "text")
    XCTAssertEqual(found.map(\.payload), [Payload(payload: "inner")])
    XCTAssertEqual(found[0].value, .int32(Generated_hidden.Int32(number: 5)))
    XCTAssertEqual(found[0].writers.map(\.at), [3])
    XCTAssertEqual(found[0].data?.flag, .no)
  }
}
