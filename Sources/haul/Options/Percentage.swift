import Arguments

/// A part of a whole in percent.
struct Percentage: OptionValue {
  static let expected = "a percentage above 0% and up to 100%, such as 1% or 0.5%"

  /// The number as the user wrote it, without the percent sign.
  private let number: String
  /// The part as a fraction above 0 and at most 1.
  let fraction: Double

  init?(argument: String) {
    guard argument.hasSuffix("%") else { return nil }
    number = String(argument.dropLast())
    guard number.wholeMatch(of: /\d+(\.\d+)?/) != nil, let percent = Double(number),
      percent > 0, percent <= 100
    else { return nil }
    fraction = percent / 100
  }

  var argument: String { "\(number)%" }
}
