import JobModel

/// `ListFormat.tsv`: after the heading URL, length and MD5 in base64, separated by tabs; the last two may be missing.
struct TSVLines: ListParser {
  static let heading = "TsvHttpData-1.0"

  private var isBegun = false
  private var isBroken = false

  mutating func parse(_ line: ListLine) -> ListItem? {
    if isBroken { return nil }
    let isFirst = !isBegun
    isBegun = true
    let item = line.item { text throws(ListFault) in
      if isFirst {
        if text == Self.heading { return nil }
        throw ListFault("the first line of this format must be \(Self.heading)")
      }
      return text.isEmpty ? nil : try Self.entry(text, line: line.number)
    }
    isBroken = isFirst && item != nil
    return item
  }

  private static func entry(_ text: String, line: Int) throws(ListFault) -> ListEntry {
    let fields = text.split(separator: "\t", omittingEmptySubsequences: false)
    guard fields.count <= 3 else {
      throw ListFault("\(fields.count) fields where there are at most 3: URL, length and MD5")
    }
    var entry = ListEntry(line: line, url: String(fields[0]))
    if fields.count > 1, !fields[1].isEmpty {
      try ListField.option(.length).put(String(fields[1]), into: &entry)
    }
    if fields.count > 2, !fields[2].isEmpty { entry.options.digest = "md5=\(fields[2])" }
    return entry
  }
}
