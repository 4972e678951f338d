/// The name of the schema with a pool's tables. Several pools can share one database if each has a schema of its own.
///
/// The SQL in this program names the schema `haul`. A connection replaces this name in each statement before it sends the
/// statement.
package struct SchemaName: Sendable, Hashable {
  /// The name, which needs no quotes in SQL.
  package let name: String

  /// The schema `haul`.
  package static let usual = SchemaName(known: "haul")

  private init(known name: String) { self.name = name }

  /// Creates a name of at most 40 lower-case letters, digits and `_` that begins with a letter. Returns nil for any other text,
  /// for `pg` and names that begin with `pg_`, and for a word that SQL reserves.
  package init?(_ name: String) {
    guard name.wholeMatch(of: /[a-z][a-z0-9_]{0,39}/) != nil, name != "pg", !name.hasPrefix("pg_"),
      !Self.reserved.contains(name)
    else { return nil }
    self.name = name
  }

  /// The words that PostgreSQL does not accept as the name of a schema without quotes, or that mean a schema of PostgreSQL.
  /// (PostgreSQL manual, "SQL Key Words")
  private static let reserved = Set(
    """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char \
    character check coalesce collate collation column concurrently constraint create cross current_catalog current_date \
    current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do \
    else end except exists extract false fetch float for foreign freeze from full grant greatest group grouping having ilike \
    in information_schema initially inner inout int integer intersect interval into is isnull join json json_array \
    json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value lateral \
    leading least left like limit localtime localtimestamp merge_action national natural nchar none normalize not notnull \
    null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary public real \
    references returning right row select session_user setof similar smallint some substring symmetric system_user table \
    tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic verbose when \
    where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot \
    xmlserialize xmltable
    """.split(separator: " ").map(String.init))

  /// Returns `sql` with this name instead of `haul` wherever `haul` is the schema: in `haul.name`, `'haul'`, `"haul"`,
  /// `SCHEMA haul` and `, haul, pg_temp` (a search path).
  package func replacing(in sql: String) -> String {
    if self == .usual { return sql }
    let text = Array(sql.utf8)
    let usual = Array(Self.usual.name.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(text.count + 64)
    var index = 0
    while index < text.count {
      if text[index] == usual[0], text[index...].starts(with: usual),
        Self.isSchema(before: text[..<index], after: text[(index + usual.count)...])
      {
        result += name.utf8
        index += usual.count
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isSchema(before: ArraySlice<UInt8>, after: ArraySlice<UInt8>) -> Bool {
    switch (before.last, after.first) {
    case (let last, UInt8(ascii: ".")?): !(last.map(isWord) ?? false)
    case (UInt8(ascii: "'")?, UInt8(ascii: "'")?), (UInt8(ascii: "\"")?, UInt8(ascii: "\"")?): true
    case (UInt8(ascii: " ")?, _):
      before.ends("SCHEMA ") && !(after.first.map(isWord) ?? false)
        || before.ends(", ") && after.starts(with: ", pg_temp".utf8)
    default: false
    }
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate func ends(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
