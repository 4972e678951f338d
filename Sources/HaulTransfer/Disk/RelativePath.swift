/// The path of a result below its store, made sure to name one file there and nothing else.
package struct RelativePath: Sendable, Hashable, CustomStringConvertible {
  /// Why a text is no such path.
  package enum Invalid: Error, Sendable, Equatable, CaseIterable {
    /// Nothing, or only slashes.
    case empty
    /// Begins with a slash.
    case absolute
    /// Two slashes in a row, or one at the end: no name between or behind them.
    case emptyComponent
    /// `.` or `..`.
    case dots
    /// A control character: C0 with NUL, DEL or C1.
    case controlCharacter
    /// A component of more than 255 bytes, or more than ``longest`` bytes in all.
    case tooLong
    /// Begins with `.haul`, where a store keeps its own files.
    case reserved
  }

  /// Bytes in all; the store's root goes before them (PATH_MAX).
  package static let longest = 4000

  /// At least one; the last is the file's name.
  package let components: [String]

  /// Reads a path with `/` between its components. Nothing is repaired.
  package init(_ text: String) throws(Invalid) {
    guard !text.utf8.allSatisfy({ $0 == UInt8(ascii: "/") }) else { throw .empty }
    guard text.utf8.first != UInt8(ascii: "/") else { throw .absolute }
    guard text.utf8.count <= Self.longest else { throw .tooLong }
    let isControl = { (scalar: Unicode.Scalar) in
      scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
    }
    guard !text.unicodeScalars.contains(where: isControl) else { throw .controlCharacter }
    components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    for component in components {
      if component.isEmpty { throw .emptyComponent }
      if component == "." || component == ".." { throw .dots }
      if component.utf8.count > 255 { throw .tooLong }
    }
    if components[0].lowercased() == ".haul" { throw .reserved }
  }

  private init(components: [String]) {
    self.components = components
  }

  /// The file's own name.
  package var name: String { components[components.count - 1] }

  /// The directory's path, `.` for the store itself.
  var directory: String {
    components.count == 1 ? "." : components.dropLast().joined(separator: "/")
  }

  package var description: String { components.joined(separator: "/") }

  /// The path in the same directory with `.number` before the name's extension: `a.1.txt`. A name
  /// that would become longer than 255 bytes loses the end of its stem.
  package func numbered(_ number: Int) -> RelativePath {
    let end = FileName.endOfStem(name)
    let name = FileName.shortened(name[..<end], ".\(number)\(name[end...])")
    return RelativePath(components: components.dropLast() + [name])
  }

  /// The name that a damaged file gets: `a.txt.damaged`.
  var damagedName: String { FileName.shortened(name[...], ".damaged") }

  /// The path with another name in the same directory; nil where that is no name.
  package func renamed(_ name: String) -> RelativePath? {
    if name.utf8.contains(UInt8(ascii: "/")) { return nil }
    return try? RelativePath((components.dropLast() + [name]).joined(separator: "/"))
  }
}
