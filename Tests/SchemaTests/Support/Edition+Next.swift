import Schema

extension Edition {
  /// The program that comes next: its migration runs `migration`, and `functions` come after today's.
  static func next(_ migration: String = "", functions: String = "") -> Edition {
    var next = Schema.edition
    next.migrations.append(
      Migration(version: Schema.version + 1, name: "made_up", sql: migration))
    next.repeatables = next.repeatables.map {
      Repeatable(name: $0.name, sql: "\($0.sql)\n\(functions)")
    }
    return next
  }
}
