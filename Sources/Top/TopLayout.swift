/// The layout of the screen. From the top: title, figures, sparkline, tabs, heading, rows, detail, status.
package struct TopLayout: Equatable {
  /// The minimum size of the window in columns and rows.
  package static let least = (columns: 40, rows: 10)

  package let isTooSmall: Bool
  package let sparkline: Int
  /// The number of rows in the table.
  package let rows: Int
  /// The number of lines that describe the row under the cursor.
  package let detail: Int

  package init(_ size: (columns: Int, rows: Int)) {
    isTooSmall = size.columns < Self.least.columns || size.rows < Self.least.rows
    sparkline = size.rows >= 40 ? 4 : size.rows >= 30 ? 2 : 1
    // The text about a row may end in a command to copy.
    detail = size.rows >= 20 ? (size.columns < 100 ? 3 : 2) : 1
    rows = max(size.rows - 5 - sparkline - detail, 1)
  }

  /// The number of lines for the detail of a job. The detail replaces the heading, the table and the lines about the row.
  package var detailRows: Int { rows + 1 + detail }
}
