import Arguments
import FoundationEssentials
import Glibc
import HaulSystem
import Log
import Stores
import Terminal

struct ManualCommand: HaulCommand {
  static let name = "manual"
  static let abstract = "Write manual pages, one for each command."
  static let discussion = """
    The pages contain the texts of --help, for man(1). Write them to the directory man1 below one of the \
    directories that manpath(1) prints. Haul replaces existing pages.
    """
  static let examples = [
    Example(
      "haul manual ~/.local/share/man/man1",
      "Writes the pages. Then 'man haul-get' shows one of them."),
    Example("haul manual /usr/local/share/man/man1", "Writes the pages for all users, as root."),
  ]
  static let operands: [Operand<Self>] = [
    .required("dir", \.directory, "The directory. Haul creates it if it is missing.").from(
      .directories)
  ]

  var directory = ""

  func perform() async throws {
    var now: [UInt8] = []
    WallTime.now().appendDateTime(to: &now)
    let pages = Haul.tree.manualPages(date: String(decoding: now.prefix(10), as: UTF8.self))
    let target = NamedDirectory(
      directory, advice: "name a directory that you can write to, such as ~/.local/share/man/man1")
    try target.make()
    for page in pages {
      let file = "\(target.path)/\(page.fileName)"
      do {
        try Data(page.text.utf8).write(to: URL(filePath: file))
      } catch {
        let number = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
        throw target.fault(number ?? EIO, at: file)
      }
    }
    try StandardStream.output.write("\(counted(pages.count, "page")) written to \(directory)\n")
  }
}
