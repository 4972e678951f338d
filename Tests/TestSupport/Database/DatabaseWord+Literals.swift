package import JobModel

// Tests spell the database's words out, so that they also check the raw values of the types.

extension DatabaseWord {
  package init(stringLiteral word: String) { self.init(rawValue: word) }
}

extension JobState: ExpressibleByStringLiteral {}
extension WorkerState: ExpressibleByStringLiteral {}
extension AttemptResult: ExpressibleByStringLiteral {}
extension ErrorClass: ExpressibleByStringLiteral {}
