import FoundationEssentials
import HaulCLibcrypto

/// Makes the page and the login form. Each is self-contained, so the browser loads no other resource.
enum Page {
  /// The content security policy of the page (CSP Level 3). It allows only the page's own data, and its own style and
  /// script, which the policy names by digest.
  static let policy = policy(style: file("page.css"), script: script)
  static let formPolicy = policy(style: file("page.css"), script: nil)
  /// The content security policy of every response that is not a page.
  static let closedPolicy = "default-src 'none'; frame-ancestors 'none'"

  /// Returns the page with its first data. The page's script requests further data.
  static func html(_ state: PageState) -> String {
    filled(
      file("page.html"),
      [
        "icon": iconURL, "style": file("page.css"), "script": script,
        "first": state.json, "summary": escaped(summary(state)), "version": escaped(state.version),
        "pool": escaped(state.pool ?? ""), "title": escaped(title(state)),
      ])
  }

  /// Returns the form that asks for the token, with a sentence if the last token was wrong.
  static func login(_ sentence: String?) -> String {
    filled(
      file("login.html"),
      [
        "icon": iconURL, "style": file("page.css"),
        "sentence": sentence.map { "<p class=\"wrong\" role=\"alert\">\(escaped($0))</p>" } ?? "",
      ])
  }

  /// Returns the page's title. The script sets the same title.
  private static func title(_ state: PageState) -> String {
    state.pool.map { "\($0) – Haul" } ?? "Haul"
  }

  /// Returns the counts as a sentence, for browsers without JavaScript.
  private static func summary(_ state: PageState) -> String {
    guard let totals = state.totals else { return state.trouble ?? "" }
    return
      "\(totals.running) running, \(totals.unfinished - totals.running) waiting, "
      + "\(totals.completed) completed, \(totals.failed) failed, \(totals.cancelled) cancelled."
  }

  private static let iconURL =
    "data:image/svg+xml;base64," + Data(file("icon.svg").utf8).base64EncodedString()

  /// Replaces each `{{name}}` of the template once. Does not replace anything in the inserted texts.
  private static func filled(_ template: String, _ values: [String: String]) -> String {
    var text = ""
    var rest = template[...]
    while let begin = rest.firstRange(of: "{{"), let end = rest.firstRange(of: "}}") {
      text +=
        rest[..<begin.lowerBound] + (values[String(rest[begin.upperBound..<end.lowerBound])] ?? "")
      rest = rest[end.upperBound...]
    }
    return text + rest
  }

  static func escaped(_ text: String) -> String {
    text.replacing(scalars: ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"])
  }

  /// The scripts, each after the scripts that it needs. The last one starts the requests.
  private static let script = ["nodes", "tables", "pool", "jobs", "page"]
    .map { file("\($0).js") }.joined()

  private static func file(_ name: String) -> String { textFiles["Page/\(name)"] ?? "" }

  private static func policy(style: String, script: String?) -> String {
    let script = script.map { "script-src 'sha256-\(digest($0))'; connect-src 'self'; " } ?? ""
    return "default-src 'none'; style-src 'sha256-\(digest(style))'; \(script)img-src data:; "
      + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  }

  private static func digest(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    _ = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
    return Data(digest).base64EncodedString()
  }
}
