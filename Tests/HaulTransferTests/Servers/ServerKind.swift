import Foundation
import TestSupport

/// How each of the programs is started, told and ended. All but Varnish log status and Range of a request to `access.log`.
extension ServerKind {
  /// In the foreground.
  func command(
    _ configuration: String, directory: String, port: UInt16
  ) -> (String, [String]) {
    switch self {
    case .nginx, .nginxTLS:
      ("/usr/sbin/nginx", ["-p", directory, "-c", configuration, "-e", "\(directory)/error.log"])
    case .apache: ("/usr/sbin/apache2", ["-f", configuration, "-DFOREGROUND"])
    case .lighttpd: ("/usr/sbin/lighttpd", ["-D", "-f", configuration])
    case .caddy: ("caddy", ["run", "--adapter", "caddyfile", "--config", configuration])
    case .squid: ("/usr/sbin/squid", ["-N", "-f", configuration])
    case .varnish:
      (
        "/usr/sbin/varnishd",
        // It would have the file compressed otherwise, and unpack it for whoever asks for it as it is: without ranges.
        ["-F", "-f", configuration, "-n", "\(directory)/varnish", "-j", "none"]
          + ["-a", "127.0.0.1:\(port)", "-s", "malloc,64m", "-p", "http_gzip_support=off"]
      )
    }
  }

  /// Ends it when what is under way is over, so that the log is complete.
  var endSignal: Int32 {
    switch self {
    case .nginx, .nginxTLS: SIGQUIT
    case .apache: SIGWINCH
    case .lighttpd: SIGINT
    case .caddy, .squid, .varnish: SIGTERM
    }
  }

  /// Ends it at once.
  var breakSignal: Int32 { self == .caddy ? SIGQUIT : SIGTERM }

  /// nil where there are commands for it.
  var reloadSignal: Int32? {
    switch self {
    case .nginx, .nginxTLS, .squid: SIGHUP
    case .apache, .lighttpd: SIGUSR1
    case .caddy, .varnish: nil
    }
  }

  /// Commands after which it reads its configuration again.
  func reloadCommands(_ configuration: String, directory: String) -> [[String]] {
    switch self {
    case .caddy:
      [
        [
          "caddy", "reload", "--force", "--adapter", "caddyfile", "--config", configuration,
          "--address", "unix/\(directory)/admin",
        ]
      ]
    case .varnish:
      [["vcl.load", "again", configuration], ["vcl.use", "again"]].map {
        ["varnishadm", "-n", "\(directory)/varnish"] + $0
      }
    default: []
    }
  }

  /// What it writes to `error.log` when it takes up its configuration again; nil where the commands wait for that.
  var reloadSign: String? {
    switch self {
    case .nginx, .nginxTLS: "gracefully shutting down"
    case .apache: "resuming normal operations"
    case .lighttpd: "graceful shutdown started"
    case .caddy: "load complete"
    case .squid: "Reconfiguring Squid Cache"
    case .varnish: nil
    }
  }

  /// Whether a line of its log is of a 206.
  func isPartial(_ line: Substring) -> Bool {
    self == .caddy ? line.contains("\"status\":206") : line.hasPrefix("206 ")
  }

  /// The whole configuration. `behind` is the port of the server that a cache has its files from.
  func configuration(
    _ mode: IndependentServer.Mode, directory: String, port: UInt16, behind: UInt16?
  ) -> String {
    switch self {
    case .nginx, .nginxTLS: nginx(mode, directory, port)
    case .apache: apache(mode, directory, port)
    case .lighttpd: lighttpd(mode, directory, port)
    case .caddy: caddy(mode, directory, port)
    case .squid: squid(directory, port, behind ?? 0)
    case .varnish: varnish(mode, behind ?? 0)
    }
  }

  private func nginx(_ mode: IndependentServer.Mode, _ directory: String, _ port: UInt16) -> String
  {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    let location =
      switch mode {
      case .honest: ""
      case .weak: "etag off; add_header ETag 'W/\"1\"';"
      case .busy: "add_header Retry-After 7 always; return 429;"
      }
    return """
      daemon off; worker_processes 1; pid nginx.pid; \(getuid() == 0 ? "user root;" : "")
      error_log error.log notice;
      events { worker_connections 64; }
      http {
        \(temporary.map { "\($0)_temp_path tmp/\($0);" }.joined(separator: " "))
        log_format short '$status "$http_range"';
        access_log access.log short;
        types { text/plain txt; }
        gzip on; gzip_types text/plain; gzip_proxied any;
        server {
          listen 127.0.0.1:\(port) \(self == .nginxTLS ? "ssl http2" : "");
          \(self == .nginxTLS ? "ssl_certificate cert.pem; ssl_certificate_key key.pem;" : "")
          root root;
          location / { \(location) }
        }
      }
      """
  }

  private func apache(_ mode: IndependentServer.Mode, _ directory: String, _ port: UInt16) -> String
  {
    let modules = ["mpm_event", "authz_core", "mime", "filter", "deflate", "headers", "alias"]
    let more =
      switch mode {
      case .honest: ""
      case .weak: "Header set ETag 'W/\"1\"'"
      case .busy: "Redirect 503 /\nHeader always set Retry-After 7"
      }
    return """
      ServerRoot \(directory)
      DefaultRuntimeDir \(directory)
      PidFile \(directory)/pid
      ServerName 127.0.0.1
      Listen 127.0.0.1:\(port)
      \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        .joined(separator: "\n"))
      \(getuid() == 0 ? "User www-data\nGroup www-data" : "")
      ErrorLog error.log
      LogFormat "%>s \\"%{Range}i\\"" short
      CustomLog access.log short
      TypesConfig /dev/null
      AddType text/plain .txt
      AddOutputFilterByType DEFLATE text/plain
      DocumentRoot \(directory)/root
      \(more)

      """
  }

  /// Says 503 for lighttpd, which has no setting for that.
  static let busyScript = "printf 'Status: 503\\r\\nRetry-After: 7\\r\\n\\r\\n'\n"

  private func lighttpd(
    _ mode: IndependentServer.Mode, _ directory: String, _ port: UInt16
  ) -> String {
    let more =
      switch mode {
      case .honest: ""
      case .weak: "setenv.set-response-header = (\"ETag\" => \"W/\\\"1\\\"\")"
      case .busy:
        """
        url.rewrite-once = ("" => "/busy.sh")
        cgi.assign = (".sh" => "/bin/sh")
        """
      }
    return """
      server.modules = ("mod_accesslog", "mod_deflate", "mod_setenv", "mod_rewrite", "mod_cgi")
      server.bind = "127.0.0.1"
      server.port = \(port)
      server.document-root = "\(directory)/root"
      server.errorlog = "\(directory)/error.log"
      accesslog.filename = "\(directory)/access.log"
      accesslog.format = "%>s \\"%{Range}i\\""
      mimetype.assign = (".txt" => "text/plain")
      deflate.mimetypes = ("text/plain")
      deflate.allowed-encodings = ("gzip")
      \(more)

      """
  }

  private func caddy(_ mode: IndependentServer.Mode, _ directory: String, _ port: UInt16) -> String
  {
    let more =
      switch mode {
      case .honest: ""
      case .weak: "header {\nETag W/\"1\"\ndefer\n}"
      case .busy: "header Retry-After 7\nrespond 429"
      }
    return """
      {
        admin unix/\(directory)/admin
        auto_https off
        log {
          output file \(directory)/error.log
        }
      }
      http://:\(port) {
        bind 127.0.0.1
        root * \(directory)/root
        encode gzip
        log {
          output file \(directory)/access.log
        }
        \(more)
        file_server
      }

      """
  }

  private func squid(_ directory: String, _ port: UInt16, _ behind: UInt16) -> String {
    """
    http_port 127.0.0.1:\(port) accel defaultsite=127.0.0.1 no-vhost
    cache_peer 127.0.0.1 parent \(behind) 0 no-query no-digest originserver
    http_access allow all
    pid_filename \(directory)/pid
    cache_log \(directory)/error.log
    logformat short %>Hs "%{Range}>h"
    access_log stdio:\(directory)/access.log short
    coredump_dir \(directory)
    cache_mem 64 MB
    maximum_object_size_in_memory 32 MB
    shutdown_lifetime 1 seconds
    visible_hostname squid.test
    pinger_enable off

    """
  }

  private func varnish(_ mode: IndependentServer.Mode, _ behind: UInt16) -> String {
    let more =
      switch mode {
      case .honest, .weak: ""
      case .busy:
        """
        sub vcl_recv { return (synth(429)); }
        sub vcl_synth { set resp.http.Retry-After = "7"; return (deliver); }
        """
      }
    return """
      vcl 4.1;
      backend nginx { .host = "127.0.0.1"; .port = "\(behind)"; }
      \(more)

      """
  }
}
