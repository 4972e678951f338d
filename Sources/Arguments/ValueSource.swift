/// The kind of values that complete an option or operand. The shell or the program looks them up.
package enum ValueSource: Sendable, Equatable {
  /// The values are paths of files.
  case files
  /// The values are paths of directories.
  case directories
  /// The values are names of the given kind, which the program looks up.
  case names(String)
  /// The values are `NAME=DIR`: a name of the given kind, and a directory.
  case mounts(String)
}
