import Foundation
import HaulTransfer
import JobModel
import Testing

@testable import ListFormats

/// All items of a list whose bytes arrive in pieces of `size`.
func items(
  _ bytes: [UInt8], _ choices: ListChoices, name: String = "list", piece size: Int = 1000
) -> [ListItem] {
  var cutter = ListCutter(name: name, choices)
  var items: [ListItem] = []
  func take() {
    while let item = cutter.next() { items.append(item) }
  }
  for start in stride(from: 0, to: bytes.count, by: size) {
    cutter.append(Array(bytes[start..<min(start + size, bytes.count)]))
    take()
  }
  cutter.end()
  take()
  while let item = cutter.last() { items.append(item) }
  return items
}

func items(
  _ bytes: [UInt8], as format: ListFormat? = .plain, name: String = "list", piece: Int = 1000
) -> [ListItem] { items(bytes, ListChoices(format: format), name: name, piece: piece) }

func items(
  _ text: String, as format: ListFormat? = .plain, name: String = "list"
) -> [ListItem] { items(Array(text.utf8), as: format, name: name) }

func entry(
  _ line: Int, _ url: String, _ change: (inout ListEntry) -> Void = { _ in }
) -> ListItem {
  var entry = ListEntry(line: line, url: url)
  change(&entry)
  return .entry(entry)
}

func withList<Result>(
  _ bytes: [UInt8], _ body: (ListSource) async throws -> Result
) async throws -> Result {
  let url = FileManager.default.temporaryDirectory.appending(path: "list-\(UUID())")
  try Data(bytes).write(to: url)
  defer { try? FileManager.default.removeItem(at: url) }
  return try await body(.file(url.path))
}
