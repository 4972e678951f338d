import Postgres

/// A function of the schema that a role may call, as the catalogue has it.
struct GrantedFunction: Sendable {
  struct Parameter: Sendable {
    let name: String
    let type: String
  }

  let name: String
  let parameters: [Parameter]

  /// `SELECT haul.NAME($1::type, …)`
  var call: String {
    let list = parameters.enumerated().map { "$\($0.offset + 1)::\($0.element.type)" }
    return "SELECT * FROM haul.\(name)(\(list.joined(separator: ", ")))"
  }

  /// All functions that a role may call, by name.
  static func all(of role: String, _ connection: Connection) async throws -> [GrantedFunction] {
    let rows = try await connection.query(
      """
      SELECT p.proname, array_agg(coalesce(p.proargnames[t.place], '') ORDER BY t.place),
        array_agg(format_type(t.type, NULL) ORDER BY t.place)
      FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t(type, place)
      WHERE p.pronamespace = 'haul'::regnamespace AND has_function_privilege($1, p.oid, 'EXECUTE')
      GROUP BY p.oid, p.proname ORDER BY p.proname
      """, [role])
    return try rows.map { row in
      let names: [String] = try row.decode(1)
      let types: [String] = try row.decode(2)
      return GrantedFunction(
        name: try row.decode(0), parameters: zip(names, types).map { Parameter(name: $0, type: $1) }
      )
    }
  }
}

extension GrantedFunction.Parameter {
  /// A value that lets a call get far: that of `known` by name, else one of the type.
  func ordinary(_ known: [String: String]) -> String? {
    if let value = known[name] { return value }
    switch type {
    case "jsonb": return "{}"
    case "uuid": return "00000000-0000-0000-0000-000000000000"
    case "boolean": return "true"
    case "interval": return "0"
    case "timestamp with time zone": return "2026-01-01"
    case "int8multirange", "bigint[]", "integer[]", "text[]": return "{}"
    case "text": return "data"
    default: return "1"
    }
  }
}
