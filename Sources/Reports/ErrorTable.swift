package import HaulTransfer
package import JobModel

/// Every error class that a job can end with: the transfer's, and those that only a pool has.
package enum ErrorTable {
  /// What a class means and what follows from it, as `docs/errors.md` shows it.
  package struct Explanation: Sendable, Equatable {
    /// What happened.
    package var meaning: String
    /// What a person can do.
    package var advice: String
    /// What follows by itself.
    package var retry: TransferError.Retry

    /// A row made of its parts.
    package init(_ retry: TransferError.Retry, _ meaning: String, _ advice: String) {
      self.meaning = meaning
      self.advice = advice
      self.retry = retry
    }
  }

  /// The word of the database and the logs, and what it means.
  package struct Row: Sendable {
    package let word: ErrorClass
    package let explanation: Explanation
  }

  /// In the order in which the documentation shows them.
  package static let rows =
    TransferError.Class.allCases.map {
      Row(word: ErrorClass(rawValue: $0.rawValue), explanation: explanation(of: $0))
    }
    + ofPool

  /// Made by the database from what several attempts have come to.
  private static let ofPool = [
    Row(
      word: .silent,
      explanation: .init(
        .host,
        "The host kept silent: several transfers in a row waited for their first byte in vain.",
        "Check that the host is up, and that the worker's machine reaches it.")),
    Row(
      word: .hostUnreachable,
      explanation: .init(
        .kept,
        "The host was in trouble for longer than a job waits for one: a day, half a minute in 'haul get'.",
        "Check the host; then 'haul retry', or the same 'haul get' again.")),
    Row(
      word: .rescuedTooOften,
      explanation: .init(
        .kept, "Worker after worker died while it had the job.",
        "Look into the workers' logs before 'haul retry'.")),
    Row(
      word: .internal,
      explanation: .init(
        .never,
        "The job's data raise an error in the database, which has set the job aside so that others go on.",
        "Read the message, and submit the job with other data. Tell Haul's developers.")),
  ]

  /// What to do about an error class; nil for a class that this program does not know.
  package static func advice(on word: ErrorClass) -> String? {
    rows.first { $0.word == word }?.explanation.advice
  }
}

extension ErrorTable {
  /// The classes of a transfer: meaning, advice and what is tried again. The database decides by the same words.
  private static func explanation(of errorClass: TransferError.Class) -> Explanation {
    switch errorClass {
    case .dns:
      .init(
        errorClass.retry, "The host's name could not be resolved.",
        "Check the name in the URL, and the name server of the worker's machine.")
    case .connect:
      .init(
        errorClass.retry, "No connection could be made, or it was refused.",
        "Check that the host is up, and that the worker's machine reaches it.")
    case .tls:
      .init(
        errorClass.retry,
        "The TLS or SSH handshake, or the check of the certificate or host key, failed.",
        "Check the host's certificate, and the clock and the CA certificates of the worker's machine; of sftp, the file of --known-hosts."
      )
    case .timeout:
      .init(
        errorClass.retry, "No answer, or too few bytes a second, for too long.",
        "Look at the host and the way to it; then 'haul retry'.")
    case .interrupted:
      .init(
        errorClass.retry, "The connection broke, or the body ended early, again and again.",
        "Look at the host and the way to it; then 'haul retry'.")
    case .http403:
      .init(
        errorClass.retry, "403: the server does not give this file to the worker.",
        "If the URL has expired, give the job another with 'haul replace-url'; if a log-in is wanted, look at the job's credential, then 'haul retry'."
      )
    case .http404:
      .init(
        errorClass.retry, "404: the server has no such file.",
        "Open the URL in a browser, and submit the right one.")
    case .http410:
      .init(
        errorClass.retry, "410: the server no longer has the file.",
        "Look for another source of the file, and submit that.")
    case .http4xx:
      .init(
        errorClass.retry, "Another 4xx answer: the server does not give this file.",
        "Open the URL in a browser, and submit the right one; where a log-in is wanted, look at the job's credential, then 'haul retry'."
      )
    case .http5xx:
      .init(
        errorClass.retry,
        "A 5xx answer, 202, 408, 425, or another 4xx with Retry-After: the server cannot give this file now.",
        "Wait, or ask whoever runs the server; then 'haul retry'.")
    case .noFile:
      .init(
        errorClass.retry, "The FTP or SFTP server has no such file, or does not give it.",
        "Compare the URL with what the server lists, and submit the right one.")
    case .rateLimited:
      .init(
        errorClass.retry,
        "429, or 403 or 503 with Retry-After or no requests left, or 421 in FTP: the host asks for less.",
        "Wait, or lower the host's cap with 'haul host set HOST --cap N'.")
    case .protocol:
      .init(
        errorClass.retry, "The answer breaks HTTP.",
        "Ask whoever runs the server or a proxy in between; then 'haul retry'.")
    case .range:
      .init(
        errorClass.retry,
        "The body ended early, and the server cannot be asked for the rest of it.",
        "Look at the way to the host: the file has to come in one piece.")
    case .sourceChanged:
      .init(
        errorClass.retry, "The source was another one each time it was read.",
        "Wait until it is no longer written to; then 'haul retry'.")
    case .suspectPage:
      .init(
        errorClass.retry,
        "What came looks like an error page or a log-in form, and not like the file that is there.",
        "Open the URL in a browser; the message shows what came. Once the file is back, 'haul retry'."
      )
    case .digest:
      .init(
        errorClass.retry, "The file does not have the digest that it should have.",
        "Compare the digest in the message with what the source publishes.")
    case .length:
      .init(
        errorClass.retry, "The file does not have the length that it should have.",
        "Compare the length in the message with what the source publishes; submit it with that, or with none."
      )
    case .tooLarge:
      .init(
        errorClass.retry, "The file is larger than --max-bytes allows.",
        "Submit it with a larger --max-bytes.")
    case .unverifiedLength:
      .init(
        errorClass.retry, "The server gives no length, and nothing else proved the file whole.",
        "Give its --checksum, or take what comes with --accept-unverified-length.")
    case .blockedAddress:
      .init(
        errorClass.retry,
        "The host's address is private, loopback or link-local, and the worker may not connect to it.",
        "If you trust it, start the worker with the --allow-net of the message; then 'haul retry'.")
    case .blockedURL:
      .init(
        errorClass.retry,
        "The URL or a redirect cannot be read, has a scheme that the worker does not allow, names a directory or holds credentials; or a header of the job's may not be sent.",
        "Submit another URL, or other headers; for ftp and sftp start the worker with --allow-scheme, then 'haul retry'."
      )
    case .blockedCredential:
      .init(
        errorClass.retry,
        "The credential that the job names is not for the origin of its URL, as the worker knows it.",
        "Submit it with another --credential, or add the origin to the credential's file; then 'haul retry'."
      )
    case .credential:
      .init(
        errorClass.retry,
        "The worker has no credential of the name that the job says, or cannot use it; or an FTP or SFTP server refuses the log-in.",
        "Put it into the directory of 'haul worker --credentials', or mend what the message says of it; the job then goes on by itself."
      )
    case .noCredential:
      .init(
        errorClass.retry,
        "An FTP or SFTP server wants a user, the job names no credential, and the worker's netrc file does not have the host.",
        "Submit it once more with --credential and --on-duplicate replace, or add the host to the file of --netrc; then 'haul retry'."
      )
    case .proxy:
      .init(
        errorClass.retry,
        "The worker's proxy does not answer, or refuses; or a network on the way wants a log-in (511).",
        "Look at the proxy, and at the worker's --proxy and --netrc; the job then goes on by itself."
      )
    case .redirects:
      .init(
        errorClass.retry, "The server redirects again and again.",
        "Open the URL in a browser, and submit where it ends.")
    case .exists:
      .init(
        errorClass.retry, "A file stands under the final name.",
        "Move it away and retry the job, or retry it with --if-exists skip, replace or rename.")
    case .pathConflict:
      .init(
        errorClass.retry,
        "A directory stands where the file should be, or a file where a directory should be.",
        "Submit it with another --out, or move away what is there.")
    case .diskFull:
      .init(
        errorClass.retry, "The file system of the store is full, or a quota is.",
        "Make room or give the store more space. A worker waits for that by itself; what had failed before, 'haul retry'."
      )
    case .io:
      .init(
        errorClass.retry, "Reading or writing a local file failed.",
        "Look at the store's file system and its mount. A worker waits for them; what had failed before, 'haul retry'."
      )
    case .notPermitted:
      .init(
        errorClass.retry,
        "The worker's user may not write in the directory of the file, or its file system is read-only.",
        "Give the directory that the message names to the user that workers run as, then 'haul retry'."
      )
    case .openFiles:
      .init(
        errorClass.retry, "The worker's process, or its machine, has as many files open as it may.",
        "Raise the limit (LimitNOFILE= of its systemd unit, 'ulimit -n'), or lower --concurrency. A worker waits for that."
      )
    case .rejected:
      .init(
        errorClass.retry, "A program that uses the library refused the response; never a worker.",
        "Look at the check of that program.")
    case .cancelled:
      .init(errorClass.retry, "Somebody cancelled it.", "'haul retry' queues it again.")
    }
  }
}
