@testable import ListFormats
@testable import Transfer

/// Resume data, and the step that follows from them.
@Sendable func fuzzCheckpoint(_ bytes: [UInt8]) {
  guard let checkpoint = try? Checkpoint(resumeData: bytes) else { return }
  let written = try? checkpoint.resumeData()
  precondition(written.flatMap { try? Checkpoint(resumeData: $0) } == checkpoint)
  precondition(ByteRanges(checkpoint.durable.description) == checkpoint.durable)
  precondition(checkpoint.durable.end <= checkpoint.completeLength)
  var state = TransferState(checkpoint: checkpoint)
  guard case .request(_, .part(let range, let fresh, _)) = state.next() else { return }
  precondition(range.lowerBound >= 0 && range.lowerBound <= fresh && fresh < range.upperBound)
  precondition(range.upperBound <= checkpoint.completeLength)
}

/// A URL; after a line's end, the Location that it answers with.
@Sendable func fuzzURL(_ bytes: [UInt8]) {
  let lines = text(bytes).split(separator: "\n", maxSplits: 1)
  guard let first = lines.first, let url = try? WebURL(String(first)) else { return }
  check(url)
  if lines.count == 2, let next = try? url.resolving(location: String(lines[1])) { check(next) }
}

/// What was checked is what is fetched, and names a file below a store.
private func check(_ url: WebURL) {
  let again = try? WebURL(url.text)
  precondition(again?.hostKey == url.hostKey && again?.path == url.path)
  precondition(again?.hasCredentials == url.hasCredentials)
  precondition((0...65_535).contains(url.port))
  let path = try? DefaultPath.path(
    hostKey: url.hostKey, path: url.path, query: url.query, digest: DigestAlgorithm.sha256)
  if let path { precondition((try? RelativePath(path)) != nil || path.utf8.count > 4000) }
}

/// A list, which reads the same in whatever pieces it comes.
@Sendable func fuzzList(_ bytes: [UInt8]) {
  let whole = lines(of: bytes, pieceSize: .max)
  for size in [1, 7] { precondition(lines(of: bytes, pieceSize: size) == whole) }
}

private func lines(of bytes: [UInt8], pieceSize: Int) -> [ListEntry] {
  var splitter = LineSplitter()
  let parser = PlainLines()
  var entries: [ListEntry] = []
  var rest = bytes[...]
  do throws(ListError) {
    while !rest.isEmpty {
      splitter.append(Array(rest.prefix(pieceSize)))
      rest = rest.dropFirst(pieceSize)
      while let line = try splitter.next() {
        if let entry = parser.parse(line) { entries.append(entry) }
      }
    }
    splitter.end()
    while let line = try splitter.next() {
      if let entry = parser.parse(line) { entries.append(entry) }
    }
  } catch {
    // What came before the bad line counts.
  }
  return entries
}
