import HaulTransfer
import Postgres
import TestSupport
import Testing

/// The database reads the host of a URL by itself, and must find what the programs find.
struct HostNameTests {
  @Test func `the database reads the host of every URL as the programs do`() async throws {
    let urls = [
      "https://a.test/1", "HTTPS://A.Test:443/1", "http://a.test:80", "http://a.test:443/x",
      "https://a.test:8443/x", "https://a.test:08443/x", "https://a.test:/x",
      "http://a.test.:8080/",
      "https://a.test?x=/y", "https://a.test#x", "https://u:p@a.test/x", "https://%61.test/x",
      "https://bücher.test/ä", "https://xn--bcher-kva.test/", "https://a_b.test/",
      "http://localhost/x",
      "http://127.1/x", "http://0x7f000001:8080/x", "http://127.0.0.1./x", "http://300.test.1a/",
      "http://[::1]/x", "http://[0:0:0:0:0:0:0:1]:80/x", "http://[2001:DB8::00:1]:8080/x",
      "http://[::ffff:192.0.2.1]/x", "http://[::2]/", "http://[::1:0:0]/", "http://[1:0:0:2::3]/",
      "http://[::ffff:1:2]/", "http://[::ffff:0:0]/", "http://[64:ff9b::192.0.2.1]:81/",
      "http://[1:2:3:4:5:6:7::]/", "http://[::1:2]/", "http://[::1:2:3]/",
      "http://[::192.0.2.1]/", "http://[fe80::1%25eth0]/x", "ftp://a.test:21/x",
      "ftp://a.test:2121/x",
      "ftps://a.test:990/x", "sftp://a.test:22/x", "sftp://a.test:2222/x",
    ]
    try await withTestDatabase { database in
      let connection = try await database.connect()
      for url in urls {
        let read = try WebURL(url, schemes: WebURL.knownSchemes)
        let found: String? = try await connection.query("SELECT haul.host_of($1)", [read.text])[0]
          .decode(0)
        #expect(found == read.hostKey, "\(url)")
      }
      await connection.close()
    }
  }
}
