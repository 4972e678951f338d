/// Returns the number and the noun, in the plural if necessary: `1 job`, `2 jobs`.
package func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
