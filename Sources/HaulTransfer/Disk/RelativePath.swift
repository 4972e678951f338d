/// The path of a finished file, relative to the root of the file's store. A value is always valid: it names exactly one file
/// below the root.
package struct RelativePath: Sendable, Hashable, CustomStringConvertible {
  /// The reason why a text is not a valid path.
  package enum Invalid: Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
    /// The text is empty, or has only slashes.
    case empty
    /// The text begins with a slash.
    case absolute
    /// The text has two slashes in a row, or one at the end, so that a name is missing.
    case emptyComponent
    /// A component is `.` or `..`.
    case dots
    /// The text has a control character: C0 (including NUL), DEL or C1.
    case controlCharacter
    /// A component has more than 255 bytes, or the text has more than ``longest`` bytes.
    case tooLong
    /// The first component is `.haul`, where a store keeps its own files.
    case reserved

    /// The reason as a clause without a full stop.
    package var description: String {
      switch self {
      case .empty: "the path is empty"
      case .absolute: "the path begins with '/'"
      case .emptyComponent: "the path contains '//' or ends in '/'"
      case .dots: "a component of the path is '.' or '..'"
      case .controlCharacter: "the path contains a control character"
      case .tooLong: "the path or one of its components is too long"
      case .reserved: "the path is in .haul, which Haul uses for its own files"
      }
    }
  }

  /// The maximum length of a path in bytes. This length leaves room for the path of the store's root: both together must not
  /// exceed PATH_MAX.
  package static let longest = 4000

  /// The components of the path, at least one. The last component is the file's name.
  package let components: [String]

  /// Reads a path with `/` between its components. Throws for an invalid path, and never corrects one.
  package init(_ text: String) throws(Invalid) {
    let components = try Self.components(of: text)
    let isControl = { (scalar: Unicode.Scalar) in
      scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
    }
    guard !text.unicodeScalars.contains(where: isControl) else { throw .controlCharacter }
    if components[0].lowercased() == ".haul" { throw .reserved }
    self.components = components
  }

  /// Reads the path of a file that another program may have named, to read this file. Unlike ``init(_:)``, this initialiser
  /// accepts every control character except NUL, paths in `.haul`, and `./` at the start.
  package init(ofForeignFile text: String) throws(Invalid) {
    var rest = text.utf8[...]
    while rest.starts(with: "./".utf8) { rest = rest.dropFirst(2) }
    if rest.contains(0) { throw .controlCharacter }
    components = try Self.components(of: String(Substring(rest)))
  }

  /// Splits a path at its slashes.
  private static func components(of text: String) throws(Invalid) -> [String] {
    guard !text.utf8.allSatisfy({ $0 == UInt8(ascii: "/") }) else { throw .empty }
    guard text.utf8.first != UInt8(ascii: "/") else { throw .absolute }
    guard text.utf8.count <= longest else { throw .tooLong }
    let components = text.utf8.split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
    ).map { String(Substring($0)) }
    for component in components {
      if component.isEmpty { throw .emptyComponent }
      if component == "." || component == ".." { throw .dots }
      if component.utf8.count > 255 { throw .tooLong }
    }
    return components
  }

  private init(components: [String]) {
    self.components = components
  }

  /// The file's own name.
  package var name: String { components[components.count - 1] }

  /// The path of the directory; `.` for the store itself.
  var directory: String {
    components.count == 1 ? "." : components.dropLast().joined(separator: "/")
  }

  package var description: String { components.joined(separator: "/") }

  /// Returns the path in the same directory with `.number` before the name's extension: `a.1.txt`. If the new name would be
  /// longer than 255 bytes, the part before the number is shortened at the end.
  package func numbered(_ number: Int) -> RelativePath {
    let end = FileName.endOfStem(name)
    let name = FileName.shortened(name[..<end], ".\(number)\(name[end...])")
    return RelativePath(components: components.dropLast() + [name])
  }

  /// The name that a damaged file gets: `a.txt.damaged`.
  var damagedName: String { FileName.shortened(name[...], ".damaged") }

  /// Returns the path with another name in the same directory; nil if `name` is not a valid name.
  package func renamed(_ name: String) -> RelativePath? {
    if name.utf8.contains(UInt8(ascii: "/")) { return nil }
    return try? RelativePath((components.dropLast() + [name]).joined(separator: "/"))
  }
}
