// Writes SQL files out as one Swift source: `EmbedSQL OUTPUT FILE…`.
//
// Run by the build-tool plugin of the same name. A raw string literal with three number signs
// compiles hundreds of times faster than the byte array that `.embedInCode` makes, and needs no
// escaping: `"""###` cannot occur in SQL.

import FoundationEssentials

let arguments = CommandLine.arguments.dropFirst()
guard let output = arguments.first else {
  fatalError("usage: EmbedSQL OUTPUT FILE…")
}
var source = """
  // Made by EmbedSQL from the .sql files beside Schema.swift.

  /// The text of each .sql file by folder and name: `Functions/claim.sql`.
  package let sqlFiles: [String: String] = [

  """
for path in arguments.dropFirst().sorted() {
  let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  let key = path.split(separator: "/").suffix(2).joined(separator: "/")
  source += "  \"\(key)\": ###\"\"\"\n\(text)\n\"\"\"###,\n"
}
source += "]\n"
try Data(source.utf8).write(to: URL(filePath: output))
