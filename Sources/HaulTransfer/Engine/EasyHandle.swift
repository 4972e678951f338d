internal import HaulCLibcurl
import HaulSystem

/// A `CURL` handle. It is set up once for an engine, and serves one exchange after another if the version of libcurl allows
/// that; see ``isReusable``.
///
/// Reuse keeps libcurl's memory, which is costly to allocate, but no state of an exchange: URL, fields and context are set
/// again each time.
@safe final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  /// The engine's watchdog; see ``EngineWatchdog``.
  let watch: EngineWatchdog
  /// The buffer in which libcurl writes a sentence about the last failure.
  private let sentence: UnsafeMutablePointer<CChar>
  private var fields: UnsafeMutablePointer<curl_slist>?
  private var resolve: UnsafeMutablePointer<curl_slist>?

  /// Whether a handle may serve a second exchange. Before 8.1.1 libcurl kept a pointer to a freed field of the last response,
  /// and used it when the next head began with a folded line (curl issue 11101).
  static let isReusable = unsafe haul_version_info().pointee.version_num >= 0x08_01_01

  /// Creates a handle. `schemes` are the allowed schemes, separated by commas.
  ///
  /// - Throws: `.io` if libcurl cannot create a handle, or if this version refuses one of the options.
  init(
    _ configuration: Engine.Configuration, schemes: String, _ watch: EngineWatchdog
  ) throws(TransferError) {
    guard let raw = unsafe curl_easy_init() else {
      throw TransferError(.io, "libcurl cannot prepare a request")
    }
    unsafe self.raw = unsafe raw
    self.watch = watch
    unsafe sentence = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe sentence.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try setUp(configuration, schemes: schemes)
  }

  deinit {
    unsafe curl_easy_cleanup(raw)
    unsafe curl_slist_free_all(fields)
    unsafe curl_slist_free_all(resolve)
    unsafe sentence.deallocate()
  }

  /// libcurl's sentence about the last failure; empty if there is none.
  var errorSentence: String { unsafe String(cString: sentence) }

  /// Sets the options that differ between exchanges. `file` is nil for HTTP, `limits` are the limits of the exchange, and
  /// `isFresh` asks for a new connection. The exchange's callbacks get `context`.
  ///
  /// - Throws: `.protocol` for a request field that would break the request's head; `.io` if libcurl refuses an option.
  func prepare(
    _ request: ExchangeRequest, file: FileRequest?, limits: Engine.Configuration, isFresh: Bool,
    context: UnsafeMutableRawPointer?
  ) throws(TransferError) {
    unsafe curl_slist_free_all(fields)
    unsafe fields = nil
    // libcurl joins these values and its own cookies into one Cookie field.
    let cookies = request.fields.filter { $0.isNamed("cookie") }.map(\.value)
    for field in request.fields where !field.isNamed("cookie") { try append(field) }
    try prepare(body: request)
    unsafe sentence.pointee = 0
    try set(CURLOPT_URL, request.url)
    try unsafe check(haul_easy_set_list(raw, CURLOPT_HTTPHEADER, fields), CURLOPT_HTTPHEADER)
    try set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
    try set(CURLOPT_IGNORE_CONTENT_LENGTH, request.engineReadsLength ? 1 : 0)
    try set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectTimeout.milliseconds)
    try set(CURLOPT_SSLCERT, request.certificate?.path)
    try set(CURLOPT_SSLKEY, request.certificate?.keyPath)
    try set(CURLOPT_COOKIE, cookies.isEmpty ? nil : cookies.joined(separator: "; "))
    // Remove the cookies of an earlier exchange, which may belong to another job.
    try set(CURLOPT_COOKIELIST, "ALL")
    for cookie in request.cookies { try set(CURLOPT_COOKIELIST, cookie) }
    try prepare(proxy: limits)
    try prepare(file, request, stallTime: limits.stallTime)
    for option in [
      CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_OPENSOCKETDATA,
      CURLOPT_PREREQDATA,
    ] {
      try unsafe check(haul_easy_set_pointer(raw, option, context), option)
    }
  }

  /// Sets the method and the body, and suppresses the fields that libcurl would add to a POST.
  private func prepare(body request: ExchangeRequest) throws(TransferError) {
    // A PUT is sent as a POST with another method, since libcurl's own PUT reads its body from a callback.
    let name = request.method == .put ? request.method.rawValue : nil
    try set(CURLOPT_CUSTOMREQUEST, name)
    guard let body = request.body else {
      // This also clears CURLOPT_NOBODY of an earlier exchange, as CURLOPT_POST does.
      try set(CURLOPT_HTTPGET, 1)
      guard request.method == .head else { return }
      return try set(CURLOPT_NOBODY, 1)
    }
    for name in ["Expect", "Content-Type"]
    where !request.fields.contains(where: { $0.isNamed(name) }) {
      try append(line: "\(name):")
    }
    try set(CURLOPT_POST, 1)
    try unsafe check(
      haul_easy_set_offset(raw, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)),
      CURLOPT_POSTFIELDSIZE_LARGE)
    // libcurl copies CURLOPT_POSTFIELDSIZE_LARGE bytes.
    let code = unsafe body.withUnsafeBytes { bytes in
      unsafe haul_easy_set_pointer(
        raw, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
    try check(code, CURLOPT_COPYPOSTFIELDS)
  }

  private func prepare(proxy limits: Engine.Configuration) throws(TransferError) {
    let entry = limits.proxy.flatMap { limits.netrc?.entry(of: $0.host) }
    let login = limits.proxy?.login
    try set(CURLOPT_PROXY, limits.proxy?.url ?? "")
    try set(CURLOPT_PROXYUSERNAME, login?.user ?? entry?.login)
    try set(CURLOPT_PROXYPASSWORD, login?.password ?? entry?.password)
  }

  /// Sets the login and the first byte for FTP and SFTP. For HTTP, sets only a Digest login, because Haul sends ranges and
  /// Basic logins as fields. Clears the other options, because libcurl would otherwise use the login of an earlier exchange.
  /// FTP and SFTP passwords go only over TLS or SSH. The SSH agent is not used.
  private func prepare(
    _ file: FileRequest?, _ request: ExchangeRequest, stallTime: Duration
  ) throws(TransferError) {
    let login = file == nil ? request.digest : request.login
    try set(CURLOPT_USERNAME, login?.user)
    try set(CURLOPT_PASSWORD, login?.password)
    try set(CURLOPT_SSH_PRIVATE_KEYFILE, login?.keyPath)
    let needsTLS =
      file != nil && (request.login != nil || request.url.lowercased().hasPrefix("ftps:"))
    let authentication = login?.keyPath == nil ? CURLSSH_AUTH_PASSWORD : CURLSSH_AUTH_PUBLICKEY
    try set(CURLOPT_USE_SSL, Int((needsTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE).rawValue))
    try set(CURLOPT_SSH_AUTH_TYPES, Int(authentication))
    try set(CURLOPT_HTTPAUTH, Int(request.digest == nil ? HAUL_AUTH_BASIC : HAUL_AUTH_DIGEST))
    // At the end of an SFTP file, libcurl 7.88 blocks until the server answers (`ssh_block_statemach`). The next two options
    // limit that time. They do not apply while the transfer is paused.
    let seconds = min(max(1, stallTime.milliseconds / 1000), 65_535)
    try set(CURLOPT_LOW_SPEED_LIMIT, file == nil ? 0 : 1)
    try set(CURLOPT_LOW_SPEED_TIME, file == nil ? 0 : seconds)
    try unsafe check(
      haul_easy_set_offset(raw, CURLOPT_RESUME_FROM_LARGE, curl_off_t(file?.offset ?? 0)),
      CURLOPT_RESUME_FROM_LARGE)
  }

  /// Returns the `context` that `prepare` set for the handle `raw`; nil if it set none.
  static func context(of raw: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    var context: UnsafeMutableRawPointer?
    _ = unsafe haul_easy_get_pointer(raw, CURLINFO_PRIVATE, &context)
    return unsafe context
  }

  /// The cookies that the handle has now, each as a line of the Netscape format. (libcurl: CURLINFO_COOKIELIST)
  var cookies: [String] {
    var list: UnsafeMutablePointer<curl_slist>?
    _ = unsafe haul_easy_get_list(raw, CURLINFO_COOKIELIST, &list)
    defer { unsafe curl_slist_free_all(list) }
    var lines: [String] = []
    var next = unsafe list
    while let item = unsafe next {
      lines.append(unsafe String(cString: item.pointee.data))
      unsafe next = unsafe item.pointee.next
    }
    return lines
  }

  /// Writes libcurl's measurements into `metrics`. libcurl's times count from the start of the exchange, and 0 means that the
  /// event did not happen. (libcurl: curl_easy_getinfo(3), TIMES)
  func measure(_ metrics: inout RequestMetrics) {
    func time(_ info: CURLINFO) -> Duration? {
      var microseconds: curl_off_t = 0
      guard unsafe haul_easy_get_offset(raw, info, &microseconds) == CURLE_OK, microseconds > 0
      else { return nil }
      return .microseconds(microseconds)
    }
    func number(_ info: CURLINFO) -> Int {
      var number = 0
      _ = unsafe haul_easy_get_long(raw, info, &number)
      return number
    }
    let (resolved, connected) = (time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T))
    if !metrics.isReusedConnection {
      metrics.nameLookup = resolved
      metrics.connect = connected.map { max(.zero, $0 - (resolved ?? .zero)) }
      metrics.tls = time(CURLINFO_APPCONNECT_TIME_T).map { max(.zero, $0 - (connected ?? .zero)) }
    }
    if let first = time(CURLINFO_STARTTRANSFER_TIME_T) {
      metrics.firstByte = max(.zero, first - (time(CURLINFO_PRETRANSFER_TIME_T) ?? .zero))
    }
    metrics.total = time(CURLINFO_TOTAL_TIME_T) ?? .zero
    let port = number(CURLINFO_PRIMARY_PORT)
    metrics.remotePort = port > 0 ? port : nil
    metrics.protocolVersion = Self.versions[number(CURLINFO_HTTP_VERSION)]
  }

  private static let versions = [
    Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0", Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1",
    Int(CURL_HTTP_VERSION_2_0): "HTTP/2",
  ]

  /// Lets a paused exchange receive again. libcurl may call the callbacks before this function returns.
  func unpause() {
    // curl_easy_pause fails if there is no connection yet; then there is no pause to end. It also fails if a callback ended the
    // exchange. The exchange has then recorded its end.
    _ = unsafe curl_easy_pause(raw, CURLPAUSE_CONT)
  }

  private func append(_ field: ResponseHead.Field) throws(TransferError) {
    let isName =
      !field.name.isEmpty && field.name.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != 58 }
    guard isName, field.value.utf8.allSatisfy({ $0 >= 32 && $0 != 127 || $0 == 9 }) else {
      throw TransferError(
        .protocol, "a request header contains a control character or has an invalid name")
    }
    // libcurl: `Name:` would remove the field, `Name;` sends it empty.
    let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
    try append(line: line)
  }

  private func append(line: String) throws(TransferError) {
    // The server must get its validator back byte for byte.
    let bytes = HeaderText.bytes(line) + [0]
    let list = unsafe bytes.withUnsafeBytes { bytes in
      unsafe curl_slist_append(fields, bytes.assumingMemoryBound(to: CChar.self).baseAddress)
    }
    guard let longer = unsafe list else {
      throw TransferError(.io, "out of memory while making a request")
    }
    unsafe fields = unsafe longer
  }

  private func setUp(
    _ configuration: Engine.Configuration, schemes: String
  ) throws(TransferError) {
    // libcurl must not use signals, and must not wait for resolver threads when a handle is freed.
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_QUICK_EXIT, 1)
    try set(CURLOPT_DNS_CACHE_TIMEOUT, configuration.dnsCacheTime.milliseconds / 1000)
    // Keep the body as sent and the URL's path as given, and follow no redirects.
    try set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    try set(CURLOPT_PATH_AS_IS, 1)
    try set(CURLOPT_FOLLOWLOCATION, 0)
    try set(CURLOPT_HTTP09_ALLOWED, 0)
    try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    // Read no .netrc file, accept no login in the URL, and always verify the server.
    try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    try set(CURLOPT_SSL_VERIFYPEER, 1)
    try set(CURLOPT_SSL_VERIFYHOST, 2)
    // Require TLS 1.2 or newer, whatever OpenSSL's settings are.
    try set(CURLOPT_SSLVERSION, haul_tls_1_2)
    try set(CURLOPT_PROXY_SSLVERSION, haul_tls_1_2)
    // The proxy does not get the origin's fields, and the origin does not get the proxy's.
    try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Ask for the time when an FTP or SFTP file was last changed. Fetch an FTP file from the address of the control connection.
    try set(CURLOPT_FILETIME, 1)
    try set(CURLOPT_FTP_SKIP_PASV_IP, 1)
    try set(CURLOPT_SERVER_RESPONSE_TIMEOUT, configuration.responseTimeout.milliseconds / 1000)
    try set(CURLOPT_TCP_KEEPALIVE, 1)
    try set(CURLOPT_BUFFERSIZE, 128 * 1024)
    try set(CURLOPT_NOPROGRESS, 1)
    try set(CURLOPT_PROTOCOLS_STR, schemes)
    try setTexts(configuration)
    try setCallbacks()
    try setResolve(configuration.resolve)
  }

  private func setTexts(_ configuration: Engine.Configuration) throws(TransferError) {
    // Set an empty proxy and an empty list of exceptions. Otherwise libcurl reads them from the environment.
    try set(CURLOPT_PROXY, "")
    try set(CURLOPT_NOPROXY, "")
    try set(CURLOPT_USERAGENT, configuration.userAgent)
    // An empty name makes libcurl keep cookies in memory only.
    try set(CURLOPT_COOKIEFILE, "")
    try set(CURLOPT_SSH_KNOWNHOSTS, configuration.knownHosts)
    guard let caFile = configuration.caFile else { return }
    // Otherwise libcurl would also trust the directory of the system's certificates.
    try set(CURLOPT_CAINFO, caFile)
    try set(CURLOPT_CAPATH, nil)
    try set(CURLOPT_PROXY_CAINFO, caFile)
    try set(CURLOPT_PROXY_CAPATH, nil)
  }

  private func setCallbacks() throws(TransferError) {
    try unsafe check(
      haul_easy_set_receive(raw, CURLOPT_HEADERFUNCTION, receiveHeader), CURLOPT_HEADERFUNCTION)
    try unsafe check(
      haul_easy_set_receive(raw, CURLOPT_WRITEFUNCTION, receiveBody), CURLOPT_WRITEFUNCTION)
    try unsafe check(haul_easy_set_open_socket(raw, openSocket), CURLOPT_OPENSOCKETFUNCTION)
    try unsafe check(haul_easy_set_close_socket(raw, closeSocket), CURLOPT_CLOSESOCKETFUNCTION)
    // A connection may outlive the handle that opened it, but not the engine.
    try unsafe check(
      haul_easy_set_pointer(
        raw, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(watch).toOpaque()),
      CURLOPT_CLOSESOCKETDATA)
    try unsafe check(haul_easy_set_before_request(raw, beforeRequest), CURLOPT_PREREQFUNCTION)
    try unsafe check(
      haul_easy_set_tls_context(raw, beforeHandshake), CURLOPT_SSL_CTX_FUNCTION)
    try unsafe check(
      haul_easy_set_pointer(raw, CURLOPT_ERRORBUFFER, sentence), CURLOPT_ERRORBUFFER)
  }

  /// Sets the names to resolve without DNS. libcurl does not copy the list, so the list lives as long as the handle.
  private func setResolve(_ entries: [String]) throws(TransferError) {
    for entry in entries { unsafe resolve = unsafe curl_slist_append(resolve, entry) }
    try unsafe check(haul_easy_set_list(raw, CURLOPT_RESOLVE, resolve), CURLOPT_RESOLVE)
  }

  private func set(_ option: CURLoption, _ number: Int) throws(TransferError) {
    try unsafe check(haul_easy_set_long(raw, option, number), option)
  }

  private func set(_ option: CURLoption, _ text: String?) throws(TransferError) {
    try unsafe check(haul_easy_set_string(raw, option, text), option)
  }

  private func check(_ code: CURLcode, _ option: CURLoption) throws(TransferError) {
    guard code == CURLE_OK else {
      let why = unsafe String(cString: curl_easy_strerror(code))
      throw TransferError(.io, "libcurl does not accept option \(option.rawValue): \(why)")
    }
  }
}

extension Duration {
  /// The duration in whole milliseconds, rounded down and limited to 0...`Int32.max`, the range of libcurl.
  var milliseconds: Int {
    let limit = Duration.milliseconds(Int32.max)
    let (seconds, attoseconds) = min(max(self, .zero), limit).components
    return Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
  }
}
