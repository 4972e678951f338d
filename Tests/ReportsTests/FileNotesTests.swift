import JobQueue
import Testing

@testable import Reports

struct FileNotesTests {
  private func ending(_ path: String, undated: Bool? = nil) -> LeaseEnding {
    var ending = LeaseEnding(job: 1, token: 1, result: .completed)
    (ending.path, ending.isUndated) = (path, undated)
    return ending
  }

  @Test(arguments: [
    ("a.zip", "text/html", true), ("d/a.ISO", "text/html", true), ("a.pdf", nil, false),
    ("a.zip", "application/zip", false), ("a.html", "text/html", false),
    ("a", "text/html", false), ("a.php", "text/html", false), (".zip", "text/html", false),
    ("v1.0", "text/html", false), ("a.tar.gz", "application/xhtml+xml", true),
    ("https://h/a.zip?x=1.html", "text/html", true), ("https://h/a.html#b.zip", "text/html", false),
  ])
  func `a web page under the name of another kind of file is told`(
    name: String, type: String?, isTold: Bool
  ) {
    var notes = FileNotes()
    let said = notes.take(ending("x"), mediaType: type, names: [name])
    #expect((said != nil) == isTold)
    #expect(notes.closing == [])
  }

  @Test func `three are named, and the others counted`() {
    var notes = FileNotes()
    for number in 1...3 {
      let said = notes.take(
        ending("\(number).zip"), mediaType: "text/html", names: ["\(number).zip"])
      #expect(
        said?.hasPrefix("\(number).zip: the server sent a web page, not a .zip file.") == true)
    }
    #expect(notes.take(ending("4.zip"), mediaType: "text/html", names: ["4.zip"]) == nil)
    #expect(notes.closing == ["the server sent a web page for 1 more file"])
    _ = notes.take(ending("5.zip"), mediaType: "text/html", names: ["5.zip"])
    #expect(notes.closing == ["the server sent web pages for 2 more files"])
  }

  @Test func `files without a time of their server's are counted`() {
    var notes = FileNotes()
    #expect(notes.take(ending("a", undated: true), mediaType: nil, names: ["a"]) == nil)
    #expect(
      notes.closing == [
        "1 file has the time of the download, because the server sent no modification time"
      ])
    _ = notes.take(ending("b", undated: true), mediaType: nil, names: ["b"])
    #expect(
      notes.closing == [
        "2 files have the time of the download, because the server sent no modification time"
      ])
  }
}
