import Arguments
import ListFormats

/// The texts of `haul submit --help`.
extension SubmitCommand {
  static let discussion = """
    Haul reads and checks all lines before it creates the first job. If some lines are wrong, Haul lists them \
    and exits with 65. You can repeat a submission. Haul skips a line if its job already exists, but queues a \
    failed job again. Haul submits more than 100,000 lines in several steps. If the command is interrupted \
    between two steps, run the same command again to continue. Files go to the queue's store under \
    host/path/name.

    By default, each worker runs up to 16 jobs at the same time. In addition, the whole pool runs at most 4 \
    transfers from one host, however many workers run. 'haul worker --concurrency' and 'haul host set' change \
    these limits.

    These jobs fail unless you start every worker of the queue with an option:

      private, loopback or link-local addresses   haul worker --allow-net
      ftp, ftps and sftp URLs                     haul worker --allow-scheme

    With --on-duplicate refresh, Haul asks the source of each completed job whether the file has changed. It \
    compares ETag or Last-Modified. If the source has not changed, the local file stays and Haul downloads no \
    bytes. If the source has changed, or the local file is missing or has another length, Haul downloads the \
    file again. The old file stays until the new one is complete. An option that you do not give again keeps \
    its value. But Haul removes the old digest and length, because they describe the old file. A waiting or \
    running job stays unchanged, because it downloads the current file anyway. To download a damaged file \
    again, use 'haul verify --requeue JOB'.

    A list has one URL per line. Haul skips blank lines and lines that start with #. If tabs separate several \
    URLs on a line, the first URL is the URL of the job and the others are mirrors. Haul tries them from left \
    to right. Haul also detects these formats from the content:

      an aria2 input file     Haul reads out, dir, checksum, header, referer
                              and user-agent
      TsvHttpData-1.0         URL, length and MD5
      a table                 with commas, semicolons or tabs
      JSON                    lines with one object each, or an array

    JOB OPTIONS override the defaults that 'haul queue set' gives a queue. Lines of the list can override both. \
    An option with [=no] also switches off a default: --remote-time=no.

    Tables and JSON can have the fields \(OneOf.listed(ListField.names, by: "and")). In JSON, headers and \
    mirrors are arrays of strings. In a table, tabs separate the headers or mirrors of a cell. If columns have \
    other names, use --url-column, --name-column and --digest-column. For any other text, use --extract. If a \
    file has another length or digest than the list says, its job fails.

    Do not put user names, passwords or tokens into a list, a URL or a header: the database would store them. \
    Give the name of a credential instead: --credential films. Workers read the file films in their \
    --credentials directory. 'haul get --credential' takes the file itself.
    """
  static let examples = [
    Example(
      "haul submit https://example.org/a.iso --out a.iso",
      "Submits one file with a name of your choice."),
    Example(
      "haul submit -i list.txt --queue films --batch monday --wait",
      "Submits a list and waits until all jobs have ended. Exits with 1 if some failed."),
    Example(
      "haul submit https://example.org/b.iso --credential archive --header 'DNT: 1'",
      "Workers log in with the credential archive, and also send the header."),
    Example(
      "haul submit -q -i list.txt",
      "Prints the first and the last id of the submitted jobs, for a script."),
    Example(
      "haul submit -i list.txt --skip-bad --on-duplicate replace",
      "Skips wrong lines, and replaces existing jobs with those of the list."),
    Example(
      "haul submit -i list.txt --on-duplicate refresh",
      "Downloads new files, and files that have changed at their source."),
  ]
}
