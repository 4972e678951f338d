// Writes text files out as one Swift source: `EmbedText OUTPUT FILE…`.
//
// The build-tool plugin of the same name runs this program. A raw string literal with three number
// signs compiles hundreds of times faster than the byte array that `.embedInCode` makes, and needs
// no escaping: none of the files contains `"""###`.

import FoundationEssentials

let arguments = CommandLine.arguments.dropFirst()
// Only the build plug-in runs this program, and always with a file. Any other call is an error in the build.
guard let output = arguments.first else {
  fatalError("usage: EmbedText OUTPUT FILE…")
}
var source = """
  // Made by EmbedText from files in folders of this target.

  /// The text of each file. The key is the folder and the name, such as `Functions/claim.sql`.
  package let textFiles: [String: String] = [

  """
for path in arguments.dropFirst().sorted() {
  let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
  let key = path.split(separator: "/").suffix(2).joined(separator: "/")
  source += "  \"\(key)\": ###\"\"\"\n\(text)\n\"\"\"###,\n"
}
source += "]\n"
try Data(source.utf8).write(to: URL(filePath: output))
