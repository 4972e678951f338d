import Arguments
import ListFormats
import Submitting

/// The options that name a list of URLs and say how to read it.
struct ListOptions: OptionGroup {
  static let title: String? = "LIST OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "input", short: "i", "<file>", \.input,
      "Read a list of URLs from this file. - is standard input."
    )
    .from(.files),
    .value(
      "format", "<format>", \.format,
      "The format of the list. Default: Haul detects the format from the content."),
    .value(
      "url-column", "<column>", \.url,
      "The column with the URLs in a table or JSON list: its name, or its number from 1."),
    .value("name-column", "<column>", \.name, "The column with the file names."),
    .value("digest-column", "<column>", \.digest, "The column with the digests of the files."),
    .flag(
      "extract", \.extracts, "Extract every URL from a text, such as HTML or Markdown."),
    .flag("skip-bad", \.skipBad, "Skip lines of the list that are wrong."),
  ]

  var input: String?
  var format: ListFormat?
  var url: ListColumn?
  var name: ListColumn?
  var digest: ListColumn?
  var extracts = false
  var skipBad = false

  /// The choices for reading the list.
  var choices: ListChoices {
    var choices = ListChoices(format: format)
    choices.columns.url = url
    choices.columns.name = name
    choices.columns.digest = digest
    choices.extractsURLs = extracts
    return choices
  }

  /// Checks that the command line gives either `urls` or a list, and that these options fit what it gives.
  func check(beside urls: [String]) throws(ExitError) {
    if urls.isEmpty && input == nil {
      throw ExitError(.usage, "no URL is given. Give URLs, or a list with --input.")
    }
    if !urls.isEmpty && input != nil {
      throw ExitError(.usage, "you cannot use URLs and --input together.")
    }
    let given =
      [
        ("--format", format != nil), ("--extract", extracts), ("--skip-bad", skipBad),
      ] + columnOptions
    if input == nil, let option = given.first(where: \.1)?.0 {
      throw ExitError(.usage, "\(option) needs a list. Give a list with --input.")
    }
    guard let column = columnOptions.first(where: \.1)?.0 else { return }
    if extracts { throw ExitError(.usage, "you cannot use --extract and \(column) together.") }
    if format == .plain || format == .aria2 {
      throw ExitError(
        .usage, "\(column) works with tables and JSON, not with --format \(format?.rawValue ?? "")."
      )
    }
  }

  private var columnOptions: [(String, Bool)] {
    [
      ("--url-column", url != nil), ("--name-column", name != nil),
      ("--digest-column", digest != nil),
    ]
  }
}

extension ListFormat: OptionValue {}

extension ListColumn: OptionValue {
  static var expected: String { "the name of a column, or its number from 1" }
  init?(argument: String) { self.init(argument) }
  var argument: String { description }
}
