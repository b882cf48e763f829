// swift-tools-version: 6.2
import PackageDescription

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let ordered = Target.Dependency.product(name: "OrderedCollections", package: "swift-collections")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let httpClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")

/// Async functions run where their caller does, instead of asking at each call and return which executor is wanted.
let stayOnExecutor = [SwiftSetting.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let package = Package(
    name: "roost",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "roost", targets: ["RoostCommand"]),
        .library(name: "Roost", targets: ["Roost"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", .upToNextMinor(from: "1.7.0")),
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.0")),
        .package(url: "https://github.com/apple/swift-collections", .upToNextMinor(from: "1.6.0")),
        .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.0")),
        .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.0")),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", .upToNextMinor(from: "1.7.3")),
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.0")),
        .package(url: "https://github.com/apple/swift-nio-http2", .upToNextMinor(from: "1.46.0")),
        .package(url: "https://github.com/apple/swift-nio-ssl", .upToNextMinor(from: "2.37.0")),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", .upToNextMinor(from: "1.5.0")),
        .package(url: "https://github.com/swiftlang/swift-subprocess", .upToNextMinor(from: "1.0.0")),
        .package(url: "https://github.com/swift-server/async-http-client", .upToNextMinor(from: "1.37.0")),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", .upToNextMinor(from: "2.13.0")),
    ],
    targets: [
        .systemLibrary(
            name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(name: "CCrypt", providers: [.apt(["libcrypt-dev"]), .brew(["libxcrypt"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(name: "CFile"),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(name: "CConsole", exclude: ["files"]),
        .target(name: "CVersion"),
        .target(name: "Platform"),
        .target(name: "Encoding", dependencies: ["Platform"]),
        .target(name: "Limits", dependencies: ["CMalloc", "Platform", deque]),
        .target(name: "Telemetry", dependencies: ["Limits", "Platform", tracing], swiftSettings: stayOnExecutor),
        .target(name: "JSON", dependencies: ["Encoding", "Platform", ordered]),
        .target(name: "BSON", dependencies: ["Encoding", "JSON"]),
        .target(
            name: "FileStorage",
            dependencies: [
                "CFile", "Encoding", "JSON", "Limits", "Platform", ordered,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Postgres", dependencies: ["CLibpq", "Encoding", "Limits", "Platform", deque, logging],
            swiftSettings: stayOnExecutor),
        .target(name: "LocalPostgres", dependencies: ["Encoding", "Platform", logging, subprocess]),
        .target(name: "ParseModel", dependencies: ["Encoding", "JSON", "Platform", ordered]),
        .target(name: "Logs", dependencies: ["Encoding", "JSON", "Limits", "ParseModel", "Platform", logging]),
        .target(name: "ServerConfiguration", dependencies: ["Encoding", "JSON", "Platform"]),
        .target(
            name: "Schema", path: "schema",
            resources: [.embedInCode("sql"), .embedInCode("classes")]),
        .target(
            name: "ParseStorage",
            dependencies: [
                "Encoding", "JSON", "Limits", "ParseModel", "Platform", "Postgres", "Schema", ordered, logging,
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Rules",
            dependencies: ["Encoding", "JSON", "ParseModel", "Platform", "ServerConfiguration", "Telemetry", ordered]),
        .target(
            name: "Operations",
            dependencies: [
                "CCrypt", "Encoding", "FileStorage", "JSON", "Limits", "Logs", "ParseModel", "ParseStorage", "Platform",
                "Postgres",
                "Rules", "ServerConfiguration", "Telemetry", deque, ordered, logging, tracing,
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "CloudCode",
            dependencies: [
                "JSON", "Limits", "Logs", "Operations", "ParseModel", "Rules", "ServerConfiguration", "Telemetry",
                ordered, logging, tracing,
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "HTTP",
            dependencies: [
                "CZlib", "Encoding", "JSON", "Limits", "Logs", "Platform", "Telemetry", deque, ordered, logging,
                tracing,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "REST",
            dependencies: [
                "CloudCode", "Encoding", "FileStorage", "HTTP", "JSON", "Limits", "Operations", "Pages",
                "ParseModel", "ParseStorage", "Platform", "Postgres", "Rules", "ServerConfiguration", "Telemetry",
                ordered, logging,
                .product(name: "Crypto", package: "swift-crypto"),
                deque,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Doctor",
            dependencies: [
                "Encoding", "JSON", "Operations", "ParseModel", "ParseStorage", "Postgres", "Schema",
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Console",
            dependencies: [
                "CConsole", "Doctor", "Encoding", "FileStorage", "HTTP", "JSON", "Limits", "Operations", "ParseModel",
                "ParseStorage", "Platform", "Postgres", "REST", "Rules", "ServerConfiguration", "SignIn", "Telemetry",
                ordered, logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "LiveQuery",
            dependencies: [
                "Encoding", "HTTP", "JSON", "Limits", "Operations", "ParseModel", "ParseStorage", "Platform",
                "Postgres", "Rules", "ServerConfiguration", logging,
            ],
            swiftSettings: stayOnExecutor),
        .target(name: "Templates", dependencies: ["Encoding"]),
        .target(
            name: "Mail",
            dependencies: [
                "CCurl", "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel",
                "ParseStorage", "Platform", "ServerConfiguration", "Telemetry", "Templates",
                logging,
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Push",
            dependencies: [
                "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel", "ParseStorage", "Platform",
                "Postgres", "Rules", "ServerConfiguration",
                deque,
                logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Outgoing",
            dependencies: [
                "Encoding", "JSON", "Limits", "Platform", "ServerConfiguration", httpClient,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "FileStores",
            dependencies: [
                "Encoding", "FileStorage", "JSON", "Limits", "Outgoing", "ParseStorage", "Platform", "Postgres",
                "Rules", "ServerConfiguration", "Telemetry", logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Webhooks",
            dependencies: [
                "CloudCode", "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel",
                "Platform", "ServerConfiguration",
                logging,
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "SignIn",
            dependencies: [
                "Encoding", "JSON", "Limits", "Operations", "Outgoing", "ParseModel", "Platform", "ServerConfiguration",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "NodeHost",
            dependencies: [
                "CloudCode", "Encoding", "JSON", "Limits", "Operations", "ParseModel", "Platform",
                "ServerConfiguration",
                deque,
                logging,
                subprocess,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Resources")], swiftSettings: stayOnExecutor),
        .target(
            name: "Pages", dependencies: ["Encoding", "JSON", "Platform", "ServerConfiguration", "Templates"],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Migration",
            dependencies: [
                "BSON", "CZlib", "Encoding", "FileStorage", "JSON", "Limits", "Outgoing", "ParseModel",
                "ParseStorage", "Platform", "Postgres",
                ordered, logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "App",
            dependencies: [
                "CMalloc", "CVersion", "CloudCode", "Console", "Encoding", "FileStorage", "FileStores", "HTTP", "JSON",
                "Limits", "LiveQuery", "LocalPostgres",
                "Logs",
                "Mail", "Migration", "NodeHost", "Operations", "Outgoing", "Pages", "ParseModel", "ParseStorage",
                "Platform", "Postgres", "Push",
                "REST",
                "Schema", "ServerConfiguration", "SignIn", "Telemetry", "Webhooks", logging, tracing,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: stayOnExecutor),
        .target(
            name: "Roost",
            dependencies: [
                "App", "CloudCode", "Encoding", "JSON", "ParseModel", "Platform", "ServerConfiguration", "Telemetry",
                ordered, logging, tracing,
            ],
            swiftSettings: stayOnExecutor),
        // The example as a part of this package, so that tests run it; it is a package of its own as well.
        .executableTarget(name: "CloudExample", dependencies: ["Roost"], path: "examples/cloud/Sources/CloudExample"),
        // Not named as the command is: beside the library `Roost` that differs in case alone, which a Mac's disk does not see.
        .executableTarget(
            name: "RoostCommand",
            dependencies: [
                "App", "Doctor", "Encoding", "JSON", "Mail", "Migration", "ParseModel", "ParseStorage", "Platform",
                "Push",
                "ServerConfiguration",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Sources/CLI"),
        .target(
            name: "TestSupport",
            dependencies: [
                "App", "FileStorage", "HTTP", "JSON", "Limits", "Operations", "ParseModel", "ParseStorage", "Postgres",
                "REST", "ServerConfiguration", "TestTools", ordered, logging, subprocess,
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/TestSupport", exclude: ["mail_catcher.py", "span_collector.py"]),
        .target(name: "TestTools", dependencies: [subprocess], path: "Tests/TestTools"),
        .testTarget(name: "ArchitectureTests", dependencies: ["TestTools"]),
        .testTarget(name: "DoctorTests", dependencies: ["Doctor", "JSON", "ParseModel", "ParseStorage"]),
        .testTarget(name: "EncodingTests", dependencies: ["Encoding"]),
        .testTarget(name: "LimitsTests", dependencies: ["Limits"]),
        .testTarget(name: "LogsTests", dependencies: ["JSON", "Logs", "ParseModel", logging]),
        .testTarget(
            name: "TelemetryTests", dependencies: ["JSON", "Telemetry", "TestTools", tracing],
            exclude: ["decode_spans.py"]),
        .testTarget(name: "JSONTests", dependencies: ["JSON", "TestTools"]),
        .testTarget(name: "PostgresTests", dependencies: ["Limits", "Postgres", "TestTools", logging]),
        .testTarget(
            name: "MailTests",
            dependencies: ["JSON", "Mail", "Outgoing", "ServerConfiguration", "Templates"]),
        .testTarget(
            name: "PushTests",
            dependencies: [
                "JSON", "Outgoing", "ParseModel", "Push", "ServerConfiguration", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "App", "Console", "Encoding", "HTTP", "JSON", "Operations", "ParseModel", "REST", "Roost",
                "ServerConfiguration", "SignIn", "TestSupport", "TestTools", logging,
            ],
            exclude: ["Browser"]),
        .testTarget(
            name: "FileStoresTests",
            dependencies: [
                "FileStorage", "FileStores", "JSON", "Outgoing", "ParseStorage", "Postgres", "RoostCommand",
                "ServerConfiguration", "TestSupport", "TestTools", logging,
                subprocess, .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            exclude: [
                "Support/bucket_server.py", "Support/google_store.py", "Support/s3_client.py",
                "Support/tagging_store.py",
            ]),
        .testTarget(name: "BSONTests", dependencies: ["BSON", "JSON", "TestTools"]),
        .testTarget(
            name: "MigrationTests",
            dependencies: [
                "App", "BSON", "CZlib", "FileStorage", "JSON", "Migration", "Outgoing", "ParseModel", "ParseStorage",
                "Postgres", "ServerConfiguration", "TestSupport", "TestTools", subprocess,
            ],
            exclude: ["Samples", "make_dump.py", "make_forms.py"]),
        .testTarget(
            name: "NodeHostTests",
            dependencies: [
                "App", "CloudCode", "JSON", "NodeHost", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["apps", "express", "sdk"]),
        .testTarget(name: "SignInTests", dependencies: ["SignIn"]),
        .testTarget(name: "PagesTests", dependencies: ["Pages", "JSON", "ServerConfiguration"]),
        .testTarget(name: "LocalPostgresTests", dependencies: ["LocalPostgres", "Postgres", "TestTools", logging]),
        .testTarget(name: "ParseModelTests", dependencies: ["ParseModel", "JSON"]),
        .testTarget(name: "ServerConfigurationTests", dependencies: ["ServerConfiguration", "JSON", "TestTools"]),
        .testTarget(
            name: "ParseStorageTests",
            dependencies: [
                "Console", "JSON", "Limits", "Migration", "ParseModel", "ParseStorage", "Postgres", "TestSupport",
                "TestTools",
                ordered, logging,
            ]),
        .testTarget(
            name: "RulesTests", dependencies: ["JSON", "ParseModel", "Rules", "ServerConfiguration", ordered]),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "FileStorage", "JSON", "Limits", "Operations", "ParseModel", "ParseStorage", "Postgres",
                "Rules", "ServerConfiguration", logging,
            ]),
        .testTarget(
            name: "LiveQueryTests",
            dependencies: [
                "HTTP", "Limits", "LiveQuery", "JSON", "Operations", "ParseStorage", "Postgres", "ServerConfiguration",
                "TestSupport", logging,
            ]),
        .testTarget(
            name: "CloudCodeTests",
            dependencies: [
                "CloudCode", "JSON", "Limits", "Operations", "ParseModel", "ServerConfiguration", "TestSupport",
                logging,
            ]),
        .testTarget(
            name: "HTTPTests",
            dependencies: [
                "HTTP", "JSON", "Limits", "REST", "ServerConfiguration",
                "TestSupport", logging,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        // The tests of requests are three modules, which are compiled beside each other.
        .testTarget(
            name: "AccountsTests",
            dependencies: [
                "App", "Encoding", "JSON", "Operations", "Outgoing", "ParseStorage", "Postgres", "Rules",
                "ServerConfiguration", "SignIn", "TestSupport", "TestTools", logging,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "CloudTests",
            dependencies: [
                "App", "CloudCode", "JSON", "Limits", "Postgres", "Roost", "TestSupport", logging, subprocess,
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "RESTTests",
            dependencies: [
                "App", "Console", "Doctor", "FileStorage", "HTTP", "JSON", "Limits", "LocalPostgres", "Operations",
                "ParseModel",
                "ParseStorage", "Postgres", "REST", "Roost", "Rules", "ServerConfiguration", "TestSupport", "TestTools",
                logging,
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .testTarget(
            name: "RoostTests",
            dependencies: [
                "App", "JSON", "Roost", "TestSupport", logging, tracing,
            ]),
        .testTarget(
            name: "AppTests",
            dependencies: [
                "App", "CloudExample", "Doctor", "FileStorage", "JSON", "LocalPostgres", "Migration",
                "ParseModel",
                "ParseStorage", "Postgres", "ServerConfiguration", "TestSupport", "TestTools", "RoostCommand", logging,
                subprocess,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            exclude: ["Migration/at_terminal.py"]),
    ]
)

// scripts/fuzz.sh alone builds the fuzzers. Of some modules they have the readers only, which need no storage: with it the
// build would take twice as long.
if Context.environment["ROOST_FUZZ"] != nil {
    func keep(_ module: String, _ sources: [String], _ dependencies: [Target.Dependency]) {
        let target = package.targets.first { $0.name == module }
        target?.sources = sources
        target?.dependencies = dependencies
    }
    let nio = ["NIOCore", "NIOEmbedded", "NIOWebSocket"].map {
        Target.Dependency.product(name: $0, package: "swift-nio")
    }
    keep("Rules", ["Files"], ["Encoding", "JSON", "ParseModel", "ServerConfiguration"])
    keep(
        "Migration",
        ["Catalog", "Entry", "Opener", "Record", "Schema"].map { "Sources/Source\($0).swift" }
            + ["ArchiveEntries", "BSONRecordReader", "ExtendedJSON", "JSONRecordReader", "ZipEntries"].map {
                "Sources/\($0).swift"
            }
            + ["MongoFields", "MongoValues", "RESTFields", "TypeInference"].map { "Mapping/\($0).swift" }
            + ["Bytes", "Loading/RejectFile.swift"],
        ["BSON", "CZlib", "Encoding", "JSON", "ParseModel", "Platform", "Postgres", ordered])
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: ["BSON", "Encoding", "HTTP", "JSON", "Limits", "Migration", "ParseModel", "Rules", ordered]
                + nio,
            path: "Fuzzing", exclude: ["csv.mjs", "seeds"]))
}

// The folders of Sources; a module that is in none has a folder of its own.
let folders = [
    "Cloud": ["CloudCode", "NodeHost", "Roost", "Webhooks"],
    "Core": [
        "FileStorage", "HTTP", "JSON", "Operations", "ParseModel", "ParseStorage", "Postgres", "REST", "Rules",
        "ServerConfiguration",
    ],
    "Features": [
        "CConsole", "Console", "Doctor", "FileStores", "LiveQuery", "Mail", "Migration", "Pages", "Push", "SignIn",
    ],
    "Libraries": [
        "BSON", "CCrypt", "CCurl", "CFile", "CLibpq", "CMalloc", "CVersion", "CZlib", "Encoding", "Limits",
        "LocalPostgres", "Logs", "Outgoing", "Platform", "Telemetry", "Templates",
    ],
]
for (folder, modules) in folders {
    for target in package.targets where modules.contains(target.name) {
        target.path = "Sources/\(folder)/\(target.name)"
    }
}

// A warning of the compiler is an error in every target of this package.
for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
}

// Tests are never optimized, because optimizing them takes longer than running them. The local build only optimizes
// modules that loop over bytes or rows. Without optimization, the others compile in a quarter of the time.
let optimized = [
    "Encoding", "FileStorage", "HTTP", "JSON", "Limits", "ParseModel", "ParseStorage", "Postgres", "Rules", "Templates",
]
let isLocal = Context.environment["ROOST_LOCAL_BUILD"] != nil
for target in package.targets
where target.type == .test || isLocal && target.type != .system && !optimized.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"])]
}
