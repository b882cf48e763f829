import FileStorage
import FileStores
import Foundation
import JSON
import Logging
import ServerConfiguration
import TestSupport
import Testing

/// Google Cloud Storage: accounts and tokens with a strict stand-in, buckets with a third-party store.
@Suite("Files in Google Cloud Storage")
struct GoogleStorageTests {
    private static func store(
        _ options: JSONValue, _ environment: [String: String] = [:]
    ) throws -> Configuration.GoogleStorage {
        guard case .google(let store) = try S3OptionTests.load(["filesAdapter": options], environment).fileStore else {
            throw ConfigurationError("another store")
        }
        return store
    }

    private static func refusal(_ options: JSONObject) -> String? {
        do {
            let adapter: JSONObject = ["filesAdapter": ["module": "gcs", "options": .object(options)]]
            let configuration = try S3OptionTests.load(adapter)
            _ = try FileStoreFactory.storage(
                configuration.fileStore, configuration, folder: "", database: "", logger: TestServer.quietLogger)
            return nil
        } catch {
            return (error as? ConfigurationError)?.message ?? "\(error)"
        }
    }

    @Test(
        "Accepts each documented module name and reads all options from the environment",
        arguments: [
            "@parse/gcs-files-adapter", "parse-server-gcs-adapter", "GCSAdapter", "./Files/GCSAdapter.js", "gcs",
        ])
    func modules(name: String) throws {
        let environment = [
            "GCP_PROJECT_ID": "p", "GCP_KEYFILE_PATH": "key.json", "GCS_BUCKET": "my.songs", "GCS_BUCKET_PREFIX": "p/",
            "GCS_DIRECT_ACCESS": "false",
        ]
        let store = try Self.store(.string(name), environment)
        #expect(store.account == "key.json")
        let address = S3Address(store.bucket)
        #expect(address.url(address.path("p/a b"), []) == "https://storage.googleapis.com/my.songs/p/a%20b")
        #expect(store.bucket.prefix == "p/")
        let own = try Self.store(
            ["module": .string(name), "options": ["bucket": "b", "bucketPrefix": ""]], environment)
        #expect(own.bucket.bucket == "b")
        #expect(own.bucket.prefix == "p/")
    }

    @Test(
        "Rejects missing, unsupported and unsafe options by name",
        arguments: [
            ([:], "GCSAdapter requires an bucket"), (["bucket": "b", "keyFilename": "/nowhere.json"], "/nowhere.json"),
            (["bucket": "b", "credentials": ["client_email": "e"]], "private_key"),
            (["bucket": "b", "credentials": ["type": "authorized_user"]], "authorized_user"),
            (["bucket": "b", "credentials": ["client_email": "e", "private_key": "k"]], "private_key"),
            (["bucket": "b", "apiEndpoint": "http://store.example"], "allowInsecureEndpoint"),
            (["bucket": "b", "retryOptions": ["a": 1]], "retryOptions"),
        ] as [(JSONObject, String)])
    func refused(options: JSONObject, word: String) {
        #expect(Self.refusal(options)?.contains(word) == true, "\(Self.refusal(options) ?? "taken")")
    }

    @Test(
        "Serves uploads in one or several parts, downloads, ranges, metadata and deletions",
        .enabled(if: BucketServer.isInstalled))
    func life() async throws {
        try await GoogleStore.run { store in
            try await TestServer.run(store.adapter(["fileAcl": "public-read"])) { server in
                let stored = try await server.send(
                    "POST", "/files/song.txt", bytes: Array("0123456789".utf8), as: .master,
                    headers: [
                        "X-Parse-File-Metadata": #"{"artist":"Größe","Year":1977}"#, "X-Parse-File-Tags": #"{"a":"b"}"#,
                    ])
                let (url, name) = (try stored.string("url"), try stored.string("name"))
                for (range, status, text) in [
                    (nil, 200, "0123456789"), ("bytes=2-3", 206, "23"), ("bytes=-1", 206, "9"), ("bytes=10-", 416, ""),
                ] as [(String?, Int, String)] {
                    let answer = try await server.send(
                        "GET", url, as: .nobody, headers: range.map { ["Range": $0] } ?? [:])
                    #expect(answer.status == status)
                    #expect(answer.text == text)
                }
                let whole = try await server.send("GET", url, as: .nobody)
                let tag = try #require(whole.headers["etag"])
                let known = try await server.send("GET", url, as: .nobody, headers: ["If-None-Match": tag])
                #expect(known.status == 304)
                let metadata = try await server.send(
                    "GET", "/files/\(TestServer.applicationID)/metadata/\(name)", as: .nobody)
                #expect(metadata["metadata"] == ["artist": "Größe", "Year": 1977])
                let large = Chunks(size: 17 * 1024 * 1024).bytes
                let second = try await server.send("POST", "/files/large.bin", bytes: large, as: .master).string("url")
                let read = try await server.send("GET", second, as: .nobody)
                #expect(read.bytes == large)
                #expect(try await server.send("DELETE", "/files/\(name)", as: .master).status == 200)
                #expect(try await server.send("GET", url, as: .nobody).status == 404)
                #expect(try await server.send("DELETE", "/files/absent", as: .master).status == 200)
            }
            #expect(store.tokenRequests == 1)
            let requests = store.requests.filter { $0["path"]?.stringValue?.hasPrefix("/files/") == true }
            let begun = try #require(requests.first { $0["path"]?.stringValue?.hasSuffix("?uploads=") == true })
            #expect(begun["headers"]?["x-goog-acl"] == "public-read")
            let put = try #require(requests.first { $0["method"] == "PUT" })
            #expect(put["headers"]?["x-goog-acl"] == "public-read")
            #expect(put["headers"]?["x-goog-meta-artist"]?.stringValue?.hasPrefix("=?UTF-8?B?") == true)
            #expect(
                requests.contains { $0["method"] == "POST" && $0["path"]?.stringValue?.contains("uploadId=") == true })
        }
    }

    @Test(
        "Renews a rejected token once for all concurrent reads, and renews expiring tokens",
        .enabled(if: BucketServer.isInstalled))
    func renewal() async throws {
        try await GoogleStore.run { store in
            try await Self.withStorage(store.adapter()) { storage in
                try await storage.write(name: "a.txt", bytes: [1, 2])
                #expect(store.tokenRequests == 1)
                try store.revoke()
                let all = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                    for _ in 0..<8 { group.addTask { try await storage.read("a.txt") } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(all == Array(repeating: [1, 2], count: 8))
                #expect(store.tokenRequests == 2)
                try store.setLifetime(1)
                try store.revoke()
                let read = try await storage.read("a.txt")
                #expect(read == [1, 2])
                let isRenewed = try await eventually {
                    guard try await storage.read("a.txt") == [1, 2] else { return false }
                    return store.tokenRequests >= 4
                }
                #expect(isRenewed)
            }
        }
    }

    @Test(
        "Finds the account in the options, an environment variable or the metadata server",
        .enabled(if: BucketServer.isInstalled))
    func accounts() async throws {
        try await GoogleStore.run { store in
            let account = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: store.accountFile))))
            let inline = store.adapter(["keyFilename": "", "credentials": account])
            let without = store.adapter(["keyFilename": ""])
            for (options, environment) in [
                (inline, [:]), (without, ["GOOGLE_APPLICATION_CREDENTIALS": store.accountFile]),
                (without, ["GCE_METADATA_HOST": "127.0.0.1:\(store.port)"]),
            ] as [(JSONObject, [String: String])] {
                try await Self.withStorage(options, environment) { storage in
                    try await storage.write(name: "a.txt", bytes: [1])
                    let names = try await storage.names()
                    #expect(names == ["a.txt"])
                    try await storage.delete(name: "a.txt")
                }
            }
            #expect(store.tokenRequests == 2)
        }
    }

    @Test("Fails uploads with an unknown account and logs Google's error", .enabled(if: BucketServer.isInstalled))
    func unknownAccount() async throws {
        try await GoogleStore.run { store in
            let file = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: store.accountFile))))
            var account = try #require(file.objectValue)
            account["client_email"] = "other@songs.example"
            let lines = LogLines()
            let options = store.adapter(["keyFilename": "", "credentials": .object(account)])
            try await Self.withStorage(options, logger: lines.logger) { storage in
                await #expect(throws: FileStorageError.unavailable(retryAfter: 5)) {
                    try await storage.write(name: "a.txt", bytes: [1])
                }
            }
            let line = lines.all.first { $0.contains("has no credentials") }
            #expect(line?.contains("invalid_grant") == true, "\(lines.all)")
        }
    }

    private static func withStorage(
        _ options: JSONObject, _ environment: [String: String] = [:], logger: Logger = TestServer.quietLogger,
        _ body: (S3Storage) async throws -> Void
    ) async throws {
        let configuration = try S3OptionTests.load(options, environment)
        let storage = try #require(
            try FileStoreFactory.storage(
                configuration.fileStore, configuration, folder: "", database: "", logger: logger) as? S3Storage)
        do {
            try await body(storage)
        } catch {
            await storage.shutdown()
            throw error
        }
        await storage.shutdown()
    }
}
