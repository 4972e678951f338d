import Arguments
import JobQueue

/// The prefix of the names of a pool's roles.
struct RolePrefixName: OptionValue {
  static let expected =
    "a name of at most 40 lower-case letters, digits and '_' that begins with a letter, but not with 'pg'"

  let argument: String

  init?(argument: String) {
    guard RolePrefix.isValid(argument) else { return nil }
    self.argument = argument
  }
}
