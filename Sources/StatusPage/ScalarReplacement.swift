extension String {
  /// Returns the string with some scalars replaced. It compares scalars, not characters, because a scalar such as U+0600 forms
  /// one character with a following `<` (UAX #29, "Prepend").
  func replacing(scalars table: [Unicode.Scalar: String]) -> String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if let replacement = table[scalar] {
        text.append(contentsOf: replacement.unicodeScalars)
      } else {
        text.append(scalar)
      }
    }
    return String(text)
  }
}
