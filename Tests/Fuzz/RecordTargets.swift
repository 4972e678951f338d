import JobModel

@testable import HaulTransfer
@testable import ListFormats

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

/// A list in any format, which reads the same in whatever pieces it comes, and whose entries survive being written.
@Sendable func fuzzList(_ bytes: [UInt8]) {
  for format in ListFormat.allCases.map(Optional.some) + [nil] {
    let whole = items(of: bytes, as: format, pieceSize: .max)
    for size in [1, 7] { precondition(items(of: bytes, as: format, pieceSize: size) == whole) }
    for case .entry(let entry) in whole { checkWritten(entry) }
  }
}

/// JSON lines and CSV keep all of an entry.
private func checkWritten(_ entry: ListEntry) {
  for format in [ListFormat.jsonl, .csv] {
    let writer = ListWriter(format)
    var expected = entry
    expected.line = format == .csv ? 2 : 1
    // CSV has no word for a text that is there and empty, and JSON lines have none for a directory.
    if entry.directory != nil || entry.path == "" || entry.options.ifExists == "" {
      continue
    }
    // One is read in many spellings and written in one.
    if let digest = entry.options.digest, ExpectedDigest(spelled: digest)?.description != digest {
      continue
    }
    if entry.url.isEmpty || entry.url.contains(where: \.isNewline) { continue }
    if [entry.path, entry.options.digest, entry.options.ifExists].contains(where: {
      $0?.contains(where: \.isNewline) == true
    }) {
      continue
    }
    let text = writer.heading + writer.lines(of: entry)
    precondition(
      items(of: Array(text.utf8), as: format, pieceSize: .max) == [.entry(expected)]
        || text.utf8.count > 60_000)
  }
}

private func items(
  of bytes: [UInt8], as format: ListFormat?, pieceSize: Int
) -> [ListItem] {
  var cutter = ListCutter(name: "list", ListChoices(format: format))
  var items: [ListItem] = []
  var rest = bytes[...]
  while !rest.isEmpty {
    cutter.append(Array(rest.prefix(pieceSize)))
    rest = rest.dropFirst(pieceSize)
    while let item = cutter.next() { items.append(item) }
  }
  cutter.end()
  while let item = cutter.next() { items.append(item) }
  while let item = cutter.last() { items.append(item) }
  return items
}
