import Dispatch
import Dflat
import Foundation
import Generated_post
import SQLiteDflat
import XCTest

#if canImport(Combine)
  import Combine
#endif

/// The programs of the original's README, word for word.
///
/// Where a program of the README does not compile with any library, a comment says what is
/// corrected: a name that is misspelt, or an optional that is not unwrapped.
final class SeedTests: FileTestCase {
  private func create(_ dflat: SQLiteWorkspace) -> Post? {
    let done = DispatchSemaphore(value: 0)
    var createdPost: Post? = nil
    dflat.performChanges([Post.self], changesHandler: { (txnContext) in
      let creationRequest = PostChangeRequest.creationRequest()
      creationRequest.title = "first post"
      creationRequest.color = .red
      creationRequest.content = .textContent(TextContent(text: "This is my very first post!"))
      // Corrected: `txnContent`.
      guard let inserted = try? txnContext.submit(creationRequest) else { return } // Alternatively, you can use txnContent.try(submit: creationRequest) which won't return any result and do "reasonable" error handling.
      if case let .inserted(post) = inserted {
        // Corrected: the associated value is an Atom.
        createdPost = post as? Post
      }
    }) { succeed in
      // Transaction Done
      XCTAssertTrue(succeed)
      done.signal()
    }
    done.wait()
    return createdPost
  }

  func testCreateReadUpdateAndDelete() {
    let filePath = path
    let dflat = SQLiteWorkspace(filePath: filePath, fileProtectionLevel: .noProtection)
    let done = DispatchSemaphore(value: 0)
    let createdPost = create(dflat)
    XCTAssertEqual(createdPost?.content, .textContent(TextContent(text: "This is my very first post!")))

    let posts = dflat.fetch(for: Post.self).where(Post.title == "first post")
    XCTAssertEqual(posts.count, 1)

    dflat.performChanges([Post.self], changesHandler: { (txnContext) in
      let post = posts[0]
      // Corrected: the request is optional.
      guard let changeRequest = PostChangeRequest.changeRequest(post) else { return }
      changeRequest.color = .green
      txnContext.try(submit: changeRequest)
    }) { succeed in
      // Transaction Done
      done.signal()
    }
    done.wait()
    XCTAssertEqual(dflat.fetch(for: Post.self).where(Post.title == "first post")[0].color, .green)

    dflat.performChanges([Post.self], changesHandler: { (txnContext) in
      let post = posts[0]
      // Corrected: the request is optional.
      guard let deletionRequest = PostChangeRequest.deletionRequest(post) else { return }
      txnContext.try(submit: deletionRequest)
    }) { succeed in
      // Transaction Done
      done.signal()
    }
    done.wait()
    XCTAssertEqual(dflat.fetch(for: Post.self).all().count, 0)
  }

  func testSnapshot() {
    let dflat = open()
    _ = create(dflat)
    let result = dflat.fetchWithinASnapshot { () -> (firstPost: FetchedResult<Post>, highPriPosts: FetchedResult<Post>) in
      let firstPost = dflat.fetch(for: Post.self).where(Post.title == "first post")
      let highPriPosts = dflat.fetch(for: Post.self).where(Post.priority > 100 && Post.color == .red)
      return (firstPost, highPriPosts)
    }
    XCTAssertEqual(result.firstPost.count, 1)
    XCTAssertEqual(result.highPriPosts.count, 0)
  }

  #if canImport(Combine)
    func testLiveQueryAndObject() {
      let dflat = open()
      let printed = Shared<[String]>([])
      func print(_ value: Any) { printed.change { $0.append("\(value)") } }
      _ = create(dflat)
      let posts = dflat.fetch(for: Post.self).all()
      let queried = dflat.publisher(for: Post.self)
        .where(Post.color == .red, orderBy: [Post.priority.descending])
        .subscribe(on: DispatchQueue.global())
        .sink { posts in
          print(posts.count)
        }
      // Corrected: `pulisher`, and the pattern `.updated(newPost)`.
      let cancellable = dflat.publisher(for: posts[0])
        .subscribe(on: DispatchQueue.global())
        .sink { post in
          switch post {
          case .updated(let newPost):
            print(newPost.color)
          case .deleted:
            print("deleted, this is completed.")
          }
        }
      dflat.wait([Post.self]) { txnContext in
        guard let changeRequest = PostChangeRequest.changeRequest(posts[0]) else { return }
        changeRequest.color = .green
        txnContext.try(submit: changeRequest)
      }
      dflat.wait([Post.self]) { txnContext in
        guard let deletionRequest = PostChangeRequest.deletionRequest(posts[0]) else { return }
        txnContext.try(submit: deletionRequest)
      }
      XCTAssertEqual(Set(printed.value), ["1", "0", "green", "deleted, this is completed."])
      XCTAssertEqual(printed.value.first, "1")
      cancellable.cancel()
      queried.cancel()
    }
  #endif
}
