/// Reads a duration: whole numbers with units, such as `90s`, `5m`, `1h30m`, `250ms` and `1d`. The largest unit comes first,
/// and each unit appears at most once. `0` needs no unit. Any other number without a unit is rejected, because readers would
/// guess different units.
extension Duration: OptionValue {
  package static var expected: String { "a duration such as 90s or 1h30m" }

  /// The milliseconds in each unit, largest first.
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  package init?(argument: String) {
    guard argument != "0" else {
      self = .zero
      return
    }
    var rest = argument[...]
    var total: Int64 = 0
    var allowed = Self.units[...]
    while !rest.isEmpty {
      guard let number = rest.takeDigits(),
        case let name = rest.takePrefix(while: \.isLetter),
        let index = allowed.firstIndex(where: { $0.name == name })
      else { return nil }
      let (part, tooLarge) = number.multipliedReportingOverflow(by: allowed[index].milliseconds)
      let (sum, overflow) = total.addingReportingOverflow(part)
      if tooLarge || overflow { return nil }
      total = sum
      allowed = allowed[(index + 1)...]
    }
    guard allowed.startIndex > 0 else { return nil }
    self = .milliseconds(total)
  }

  /// The duration as text, to the millisecond, in the largest units that express it exactly.
  package var argument: String {
    var rest = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    var text = ""
    for unit in Self.units where rest >= unit.milliseconds {
      text += "\(rest / unit.milliseconds)\(unit.name)"
      rest %= unit.milliseconds
    }
    return text.isEmpty ? "0" : text
  }
}

extension Substring {
  /// Removes the leading ASCII digits and returns the number that they form. Returns nil if there are no digits, or if the
  /// number does not fit into `Int64`.
  mutating func takeDigits() -> Int64? {
    Int64(takePrefix { $0.isASCII && $0.isNumber })
  }

  /// Removes and returns the longest prefix of characters that satisfy `condition`.
  mutating func takePrefix(while condition: (Character) -> Bool) -> Substring {
    let taken = prefix(while: condition)
    self = dropFirst(taken.count)
    return taken
  }
}
