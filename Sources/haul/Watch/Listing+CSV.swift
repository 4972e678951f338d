import ListFormats
import Terminal

extension Listing {
  /// Returns the rows as CSV with a heading of the JSON names. A null value is an empty field. No value is cut.
  func csv(_ rows: [Row]) -> String {
    CSVLine.of(columns.map(\.key))
      + rows.map { row in
        CSVLine.of(
          columns.map { column in
            switch column.value(row) {
            case .null: ""
            case .string(let text): text
            case let value: value.line
            }
          })
      }.joined()
  }
}
