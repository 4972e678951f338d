import TestSupport
import Testing

/// A command line that must not work, how it ends, and the beginning of what it says.
struct Refusal: Sendable, CustomTestStringConvertible {
  let line: [String]
  let code: Int32
  let sentence: String

  /// `line` is cut at spaces; `last` is one word more.
  init(_ line: String, _ code: Int32, _ sentence: String, last: String? = nil) {
    self.line = line.split(separator: " ").map(String.init) + (last.map { [$0] } ?? [])
    self.code = code
    self.sentence = sentence
  }

  var testDescription: String { "\(line) ends with \(code)" }

  /// A message without its pool. What is not there may be in another pool, so such a message must name the pool.
  static func told(_ message: String) -> String {
    if message.contains(#/: there is no (batch|queue|host|job|worker|policy|store) /#) {
      #expect(message != message.withoutPool, "\(message)")
    }
    return message.withoutPool
  }
}

extension Refusal {
  /// Lines that contradict a pool with one store, `films` at `directory`, one job in it and one of the batch `monday`.
  static func contradictions(storeAt directory: String) -> [Refusal] {
    [
      Refusal(
        "submit http://h/a --queue nope", 65,
        "haul submit: there is no queue \"nope\". Queues: default, films."),
      Refusal(
        "submit http://h/b --out x", 65,
        "haul submit: job 1 already downloads another URL to the path \"x\". Give this line another path, or replace"
      ),
      Refusal("pause --batch nope", 65, "haul pause: there is no batch \"nope\"."),
      Refusal("jobs --batch nope", 65, "haul jobs: there is no batch \"nope\"."),
      Refusal("jobs --queue nope", 65, "haul jobs: there is no queue \"nope\"."),
      Refusal("jobs --host nope", 65, "haul jobs: there is no host \"nope\"."),
      Refusal(
        "jobs --host 127.0.0.1", 65,
        "haul jobs: there is no host \"127.0.0.1\". Did you mean '127.0.0.1:8077'?"),
      Refusal(
        "pause --host 127.0.0.1", 65,
        "haul pause: there is no host \"127.0.0.1\". Did you mean '127.0.0.1:8077'?"),
      Refusal(
        "export --queue flims", 65,
        "haul export: there is no queue \"flims\". Did you mean 'films'?"),
      Refusal(
        "export --batch mondy --format csv", 65,
        "haul export: there is no batch \"mondy\"."),
      Refusal(
        "store init other /nonexistent/a", 78,
        "haul store init: /nonexistent/a does not exist. Create it with: mkdir -p /nonexistent/a"
      ),
      Refusal("jobs 17", 65, "haul jobs: there is no job 17."),
      Refusal("job 17", 65, "haul job: there is no job 17."),
      Refusal(
        "host unset nope", 65,
        "haul host unset: there is no policy for \"nope\". 'haul host policies' lists all policies."
      ),
      Refusal(
        "host set http://h/ --cap 2", 65, "haul host set: \"http://h/\" is not a host such as"),
      Refusal(
        "host unblock nope", 65, "haul host unblock: there is no host \"nope\". See 'haul hosts'."
      ),
      Refusal(
        "host unblock 127.0.0.1:8076", 65,
        "haul host unblock: there is no host \"127.0.0.1:8076\". See 'haul hosts'. Did you mean '127.0.0.1:8077'?"
      ),
      Refusal("host block *.h", 65, "haul host block: \"*.h\" is not a host such as example.org"),
      Refusal("queue set films", 64, "haul queue set: nothing to set. Give --max-running,"),
      Refusal("queue pause nope", 65, "haul queue pause: there is no queue \"nope\". Queues:"),
      Refusal("batch show nope", 65, "haul batch show: there is no batch \"nope\"."),
      Refusal("prioritize 1", 64, "haul prioritize: option '--priority' is missing."),
      Refusal("replace-url --map x", 64, "haul replace-url: option '--batch' is missing."),
      Refusal("replace-url --batch x", 64, "haul replace-url: option '--map' is missing."),
      Refusal("prioritize --priority 1", 64, "haul prioritize: no jobs are selected."),
      Refusal("drain 17", 65, "haul drain: there is no worker 17."),
      Refusal("rescue worker 17", 65, "haul rescue worker: there is no worker 17."),
      Refusal(
        "queue create films --store films", 65,
        "haul queue create: the queue \"films\" already exists. Nothing was changed."),
      Refusal(
        "worker --store films=/", 78,
        "haul worker: / has no store marker. If the directory is on a share, check that the share is mounted."
      ),
      Refusal(
        "worker --store other=\(directory)", 78,
        "haul worker: store \"other\": the marker in its directory belongs to the store \"films\""
      ),
    ]
  }
}
