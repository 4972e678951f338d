import JobQueue

/// Collects warnings about downloaded files: the first few are shown immediately, the rest as a number at the end.
struct FileNotes {
  /// Suffixes of files that are not web pages. A web page under such a name is usually an error or login page.
  private static let suffixes = Set(
    """
    7z apk arrow avi avif bam bin bz2 cab cram crx csv db deb dmg doc docx epub exe fasta fastq fits flac gguf gif gz h5 hdf \
    hdf5 img iso jar jpeg jpg json jsonl lz4 m4a m4v mkv mov mp3 mp4 mpeg mpg msi nc ndjson npy npz odt ogg onnx opus orc \
    parquet pbf pdf pkg png ppt pptx pt pth rar rpm safetensors shp sqlite svg tar tbz tgz tif tiff tsv ttf txt txz vcf \
    wasm wav webm webp whl wmv woff woff2 xls xlsx xz zip zst zstd
    """.split(separator: " ").map(String.init))
  /// The maximum number of web pages that are shown by name.
  private static let named = 3

  private var pages = 0
  private var undated = 0

  /// Adds a completed file with its media type and names. Returns a warning to show now, or nil.
  mutating func take(_ ending: LeaseEnding, mediaType: String?, names: [String]) -> String? {
    if ending.isUndated == true { undated += 1 }
    guard mediaType == "text/html" || mediaType == "application/xhtml+xml",
      let suffix = names.lazy.compactMap(Self.suffix).first(where: Self.suffixes.contains)
    else { return nil }
    pages += 1
    guard pages <= Self.named else { return nil }
    let path = ending.path ?? names[0]
    return
      "\(path): the server sent a web page, not a .\(suffix) file. Check whether the page is an error or a login page. Use --expect-type to refuse web pages."
  }

  /// The lines to show at the end of the run.
  var closing: [String] {
    var lines: [String] = []
    if pages > Self.named {
      let more = pages - Self.named
      lines.append(
        more == 1
          ? "the server sent a web page for 1 more file"
          : "the server sent web pages for \(more) more files")
    }
    if undated > 0 {
      let files = undated == 1 ? "1 file has" : "\(undated) files have"
      lines.append(
        "\(files) the time of the download, because the server sent no modification time")
    }
    return lines
  }

  /// Returns the last suffix of a path, or of the path in a URL, in lower case; nil if there is none.
  private static func suffix(of text: String) -> String? {
    let path = text.prefix { $0 != "?" && $0 != "#" }
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    return name[name.index(after: dot)...].lowercased()
  }
}
