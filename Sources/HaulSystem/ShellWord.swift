/// Returns `text` as one word of a shell command line, with quotation marks if necessary.
package func shellWord(_ text: String) -> String {
  let isPlain = text.utf8.allSatisfy {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0
      || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || "._-/:@+,=".utf8.contains($0)
  }
  if isPlain && !text.isEmpty { return text }
  return "'"
    + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
}
