// swift-tools-version: 6.2
import PackageDescription

/// Every target: warnings are errors, existentials are spelled out, imports say who sees them.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Targets that call C also mark each unsafe expression.
let strictC: [SwiftSetting] = strict + [.strictMemorySafety()]

/// Tests have no debug information: it takes up to a third of the time to compile them, and assertions know their lines
/// without it. SwiftPM adds -g after these flags, and swiftc passes -Xfrontend flags on after that -g, so that -gnone wins.
let forTests: [SwiftSetting] = strict + [.unsafeFlags(["-Xfrontend", "-gnone"])]

let package = Package(
  name: "haul",
  products: [
    .executable(name: "haul", targets: ["haul"]),
    .library(name: "HaulTransfer", targets: ["HaulTransfer"]),
  ],
  targets: [
    // C libraries: typed faces only, no logic.
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(
      name: "HaulCLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "HaulCLibcrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CLibmicrohttpd", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"])]),
    .target(name: "HaulCLinux"),

    // The rooms, lowest first.
    .target(name: "HaulSystem", dependencies: ["HaulCLinux"], swiftSettings: strictC),
    .target(name: "Log", dependencies: ["HaulSystem"], swiftSettings: strictC),
    .target(name: "Postgres", dependencies: ["CLibpq", "HaulSystem"], swiftSettings: strictC),
    .target(
      name: "HaulTransfer",
      dependencies: ["HaulCLibcurl", "HaulCLibcrypto", "HaulCLinux", "HaulSystem"],
      swiftSettings: strictC),
    .target(
      name: "EmbeddedPostgres", dependencies: ["Postgres", "HaulSystem", "HaulCLinux"],
      swiftSettings: strictC),
    .executableTarget(name: "EmbedText", swiftSettings: strict),
    .plugin(name: "RevisionPlugin", capability: .buildTool()),
    .plugin(name: "EmbedTextPlugin", capability: .buildTool(), dependencies: ["EmbedText"]),
    .target(
      name: "Schema",
      exclude: ["Migrations", "Functions", "Views", "Roles"],
      swiftSettings: strict,
      plugins: ["EmbedTextPlugin"]),
    .target(name: "JobModel", swiftSettings: strict),
    .target(
      name: "JobQueue", dependencies: ["JobModel", "Postgres", "Schema"], swiftSettings: strict),
    .target(
      name: "Stores", dependencies: ["HaulTransfer", "HaulSystem", "HaulCLinux"],
      swiftSettings: strictC),
    .target(
      name: "Worker",
      dependencies: [
        "JobModel",
        "Stores", "Maintenance", "JobQueue", "Postgres", "HaulTransfer", "Log", "HaulSystem",
        "HaulCLinux",
      ],
      swiftSettings: strictC),
    .target(
      name: "Maintenance", dependencies: ["JobModel", "JobQueue", "Postgres", "Log"],
      swiftSettings: strict),
    .target(
      name: "StatusPage",
      dependencies: [
        "JobModel",
        "JobQueue", "Postgres", "Log", "CLibmicrohttpd", "HaulCLibcrypto", "HaulSystem",
      ],
      exclude: ["Page"], swiftSettings: strictC, plugins: ["EmbedTextPlugin"]),
    .target(
      name: "ListFormats", dependencies: ["JobModel", "HaulTransfer", "HaulSystem"],
      swiftSettings: strictC),
    .target(name: "Arguments", dependencies: ["HaulSystem"], swiftSettings: strictC),
    .target(
      name: "Terminal", dependencies: ["Log", "HaulSystem", "HaulCLinux"], swiftSettings: strictC),
    .target(
      name: "LocalPool",
      dependencies: [
        "JobModel",
        "EmbeddedPostgres", "Maintenance", "JobQueue", "Postgres", "HaulTransfer", "Stores",
        "Worker",
        "Log", "HaulSystem",
      ],
      swiftSettings: strictC),
    // What commands show and read, apart from the command line: testable without the executable.
    .target(
      name: "Reports",
      dependencies: [
        "JobModel",
        "Arguments", "EmbeddedPostgres", "HaulSystem", "HaulTransfer", "JobQueue", "LocalPool",
        "Log",
        "Postgres", "Terminal", "Worker",
      ],
      swiftSettings: strictC),
    .target(
      name: "Checks",
      dependencies: [
        "HaulSystem", "HaulTransfer", "JobQueue", "Log", "Postgres", "Reports", "Stores",
        "Terminal",
      ],
      swiftSettings: strictC),
    .target(
      name: "Submitting",
      dependencies: [
        "JobModel",
        "Arguments", "HaulSystem", "HaulTransfer", "JobQueue", "ListFormats", "Terminal",
      ],
      swiftSettings: strictC),
    .target(
      name: "Top",
      dependencies: [
        "Arguments", "HaulSystem", "JobModel", "JobQueue", "Postgres", "Reports", "Terminal",
      ],
      swiftSettings: strictC),
    .executableTarget(
      name: "haul",
      dependencies: [
        "Top", "Reports", "Checks", "Submitting", "JobModel", "LocalPool", "Stores", "Worker",
        "Maintenance", "StatusPage", "JobQueue", "Postgres",
        "EmbeddedPostgres", "HaulTransfer", "ListFormats", "Arguments", "Terminal", "Log",
        "HaulSystem",
      ],
      swiftSettings: strictC,
      // The other linker warns of a call to mktemp(3) in the toolchain's own static library.
      linkerSettings: [.unsafeFlags(["-use-ld=lld"], .when(configuration: .release))],
      plugins: ["RevisionPlugin"]),

    // Tests: one folder a target; TestSupport holds the servers and databases they share.
    .target(
      name: "TestSupport", dependencies: ["JobModel", "Postgres", "JobQueue", "Schema"],
      path: "Tests/TestSupport", swiftSettings: forTests),
    .testTarget(
      name: "RepositoryTests", dependencies: ["TestSupport"], swiftSettings: forTests),
    .testTarget(
      name: "PostgresTests", dependencies: ["Postgres", "TestSupport"],
      swiftSettings: forTests),
    .executableTarget(
      name: "ClusterUser", dependencies: ["EmbeddedPostgres"], path: "Tests/ClusterUser",
      swiftSettings: strictC),
    .testTarget(
      name: "EmbeddedPostgresTests",
      dependencies: ["EmbeddedPostgres", "ClusterUser", "Postgres", "HaulSystem", "TestSupport"],
      swiftSettings: forTests),
    .executableTarget(
      name: "LibraryUser", dependencies: ["HaulTransfer"], path: "Tests/LibraryUser",
      swiftSettings: strictC),
    .testTarget(
      name: "HaulTransferTests",
      dependencies: ["HaulTransfer", "HaulCLinux", "HaulSystem", "LibraryUser", "TestSupport"],
      exclude: ["CurlCases/CurlReplies", "Golden"],
      swiftSettings: forTests),
    .testTarget(
      name: "SchemaTests",
      dependencies: ["JobModel", "Schema", "JobQueue", "Postgres", "TestSupport"],
      exclude: ["Golden"], swiftSettings: forTests),
    .testTarget(
      name: "StoresTests", dependencies: ["Stores", "HaulTransfer", "HaulSystem", "TestSupport"],
      swiftSettings: forTests),
    .testTarget(
      name: "WorkerTests",
      dependencies: [
        "Worker", "Maintenance", "JobQueue", "HaulTransfer", "Log", "Stores", "TestSupport",
      ],
      swiftSettings: forTests),
    .testTarget(
      name: "StatusPageTests",
      dependencies: ["StatusPage", "JobQueue", "TestSupport"],
      swiftSettings: forTests),
    // Here only to be compiled: scripts/fuzz makes a program of them.
    .testTarget(
      name: "FuzzTargets", dependencies: ["HaulTransfer", "JobModel", "ListFormats"],
      path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: strictC),
    .testTarget(
      name: "ArgumentsTests",
      dependencies: [
        "JobModel",
        "Arguments", "ListFormats", "LocalPool", "Log", "Postgres", "HaulTransfer", "Terminal",
        "TestSupport", "haul",
      ],
      exclude: ["Golden"], swiftSettings: forTests),
    .testTarget(
      name: "TerminalTests", dependencies: ["Terminal", "HaulSystem", "TestSupport"],
      exclude: ["Golden"], swiftSettings: forTests),
    .testTarget(
      name: "ReportsTests",
      dependencies: [
        "JobModel", "ListFormats",
        "Reports", "Checks", "Submitting", "HaulSystem", "HaulTransfer", "JobQueue",
        "Log", "Postgres", "Stores", "Terminal", "Worker", "TestSupport",
      ],
      swiftSettings: forTests),
    .testTarget(
      name: "TopTests",
      dependencies: ["Top", "JobModel", "JobQueue", "Reports", "Terminal", "TestSupport"],
      exclude: ["Golden"], swiftSettings: forTests),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "JobModel", "TestSupport", "EmbeddedPostgres", "HaulSystem", "JobQueue", "Postgres",
      ],
      swiftSettings: forTests),
  ],
  swiftLanguageModes: [.v6]
)

// Only for `scripts/fuzz`. libFuzzer brings `main`, so no other program is built beside its targets and what they reach.
if Context.environment["HAUL_FUZZ"] != nil {
  let reached = [
    "HaulCLibcurl", "HaulCLibcrypto", "HaulCLinux", "HaulSystem", "HaulTransfer", "JobModel",
    "ListFormats",
  ]
  package.products = []
  package.targets.removeAll { !reached.contains($0.name) }
  package.targets.append(
    .executableTarget(
      name: "Fuzz", dependencies: ["HaulTransfer", "JobModel", "ListFormats"], path: "Tests/Fuzz",
      exclude: ["Corpus"], swiftSettings: strictC))
}
