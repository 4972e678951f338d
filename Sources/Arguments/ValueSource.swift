/// Where the values of an option or operand come from, for completion: what the shell or the program must look up.
package enum ValueSource: Sendable, Equatable {
  /// Paths of files.
  case files
  /// Paths of directories.
  case directories
  /// Names of one kind that the program knows how to find.
  case names(String)
  /// `NAME=DIR`: such a name, and a directory.
  case mounts(String)
}
