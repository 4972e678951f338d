/// The source of the values of an option or operand, for completion: the shell or the program looks them up.
package enum ValueSource: Sendable, Equatable {
  /// Paths of files.
  case files
  /// Paths of directories.
  case directories
  /// Names of the given kind, which the program can find.
  case names(String)
  /// `NAME=DIR`: a name of the given kind, and a directory.
  case mounts(String)
}
