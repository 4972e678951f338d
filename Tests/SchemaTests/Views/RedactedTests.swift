import Postgres
import TestSupport
import Testing

/// What the views show of a URL that signs or grants. `URLTests` has the table of the same rules in Swift.
struct RedactedTests {
  /// Each `*` is a secret; all else may be shown.
  private static let urls = [
    "http://*:*@h/a?b=c", "http://*@h/a",
    // S3, GCS, Azure SAS, CloudFront, Akamai, Cloudflare, Zenodo, Dataverse, SharePoint, a Java server, nginx.
    "https://h/k?X-Amz-Algorithm=*&X-Amz-Signature=*&X-Amz-Security-Token=*&versionId=3",
    "https://h/k?GoogleAccessId=*&Expires=*&Signature=*&generation=3",
    "https://h/k?X-Goog-Credential=*&X-Goog-Signature=*",
    "https://h/k?sv=*&se=*&sr=*&sp=*&skoid=*&sktid=*&skt=*&sig=*&comp=list",
    "https://h/k?Policy=*&Signature=*&Key-Pair-Id=*", "https://h/k?__token__=*&hdnea=*&hdnts=*",
    "https://h/k?verify=*&page=1", "https://h/records/1/files/a?token=*",
    "https://h/api/access/datafile/3?unblock-key=*", "https://h/x?tempauth=*&name=a",
    "https://h/a;jsessionid=*", "https://h/a;jsessionid=*/b",
    "https://h/?hash=*&st=*&pw=*&md5=*&page=1", "https://h/?x=1;token=*", "https://h/?api_%6bey=*",
    "https://h/?access_token=*=*&flag&=x", "https://h/?%74%6f%6b%65%6e=*",
    "https://h/a#access_token=*", "https://h/?PASSWORD=*&Auth=*&session_id=*&jwt=*&rlkey=*",
  ]

  @Test func `no list shows a value that signs or grants`() async throws {
    try await Pool.open { pool in
      for template in Self.urls {
        let url = template.replacing("*", with: "s3cr3t")
        let shown: String = try await pool.value("SELECT haul.redacted($1)", [url])
        #expect(!shown.contains("s3cr3t"), "\(shown)")
        for rest in ["versionId=3", "generation=3", "comp=list", "page=1", "name=a", "flag", "x=1"]
        where url.contains(rest) {
          #expect(shown.contains(rest), "\(shown)")
        }
      }
    }
  }
}
