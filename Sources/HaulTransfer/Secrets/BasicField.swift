import FoundationEssentials

extension ResponseHead.Field {
  /// Returns an Authorization field for this login (RFC 7617).
  static func basic(_ login: Login) -> ResponseHead.Field {
    basic(user: login.user, password: login.password ?? "")
  }

  /// Returns an Authorization field for this user and password (RFC 7617).
  package static func basic(user: String, password: String) -> ResponseHead.Field {
    let text = Data("\(user):\(password)".utf8).base64EncodedString()
    return ResponseHead.Field("Authorization", "Basic \(text)")
  }
}
