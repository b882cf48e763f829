import Crypto
import FileStorage
import FileStores
import Foundation
import JSON
import ServerConfiguration
import TestSupport
import Testing

/// URLs at which clients read files from the store.
@Suite("Direct file URLs")
struct DirectFileTests {
    private static let digits = "0123456789abcdef0123456789abcdef"

    private static func url(_ adapter: JSONValue, _ name: String, _ others: JSONObject = [:]) throws -> String? {
        var options: JSONObject = ["filesAdapter": adapter]
        options.merge(others) { $1 }
        let configuration = try S3OptionTests.load(options)
        let storage = try FileStoreFactory.storage(
            configuration, folder: "", database: "", logger: TestServer.quietLogger)
        return storage.location?(name)
    }

    private static func s3(_ options: JSONObject) -> JSONValue {
        var all: JSONObject = [
            "bucket": "songs", "region": "eu-west-1", "bucketPrefix": "p/", "accessKey": "k", "secretKey": "s",
        ]
        all.merge(options) { $1 }
        return ["module": "s3", "options": .object(all)]
    }

    @Test(
        "Builds direct URLs for endpoints and CDNs, with names encoded",
        arguments: [
            (["directAccess": true], "https://songs.s3.eu-west-1.amazonaws.com/p/d/a%20%C3%A9%2B.txt"),
            (
                ["directAccess": true, "s3overrides": ["endpoint": "http://minio:9000", "forcePathStyle": true]],
                "http://minio:9000/songs/p/d/a%20%C3%A9%2B.txt"
            ),
            (
                ["directAccess": true, "baseUrl": "https://cdn.example/x/"],
                "https://cdn.example/x/p/d/a%20%C3%A9%2B.txt"
            ),
            (
                ["directAccess": true, "baseUrl": "https://cdn.example", "baseUrlDirect": true],
                "https://cdn.example/d/a%20%C3%A9%2B.txt"
            ), (["presignedUrl": true, "baseUrl": "https://cdn.example"], nil), ([:], nil),
        ] as [(JSONObject, String?)])
    func forms(options: JSONObject, expected: String?) throws {
        #expect(try Self.url(Self.s3(options), "d/a é+.txt") == expected)
    }

    @Test("Puts the bucket into the path of Google's URLs")
    func google() throws {
        let adapter: JSONValue = [
            "module": "gcs", "options": ["bucket": "songs", "bucketPrefix": "p/", "directAccess": true],
        ]
        #expect(try Self.url(adapter, "a b.txt") == "https://storage.googleapis.com/songs/p/a%20b.txt")
    }

    @Test("Builds no URL for unusable names, nor for any file with a fallback store")
    func without() throws {
        #expect(try Self.url(Self.s3(["directAccess": true]), "../x") == nil)
        #expect(try Self.url(Self.s3(["directAccess": true]), "x", ["filesFallback": ["fs"]]) == nil)
    }

    @Test("Objects get the ACL public-read with unsigned direct access, unless fileAcl says otherwise")
    func permissions() throws {
        func acl(_ options: JSONObject) throws -> String? {
            guard case .s3(let bucket) = try S3OptionTests.load(["filesAdapter": Self.s3(options)]).fileStore else {
                throw ConfigurationError("another store")
            }
            return bucket.acl
        }
        #expect(try acl(["directAccess": true]) == "public-read")
        #expect(try acl(["directAccess": true, "fileAcl": "none"]) == nil)
        #expect(try acl(["directAccess": true, "presignedUrl": true]) == nil)
        #expect(try acl(["directAccess": true, "presignedUrl": true, "fileAcl": "private"]) == "private")
        #expect(try acl([:]) == nil)
    }

    @Test("Warns about options that don't apply to direct files, and rejects encryption and long lifetimes")
    func warnings() throws {
        func told(_ options: JSONObject) throws -> [String] {
            var file: JSONObject = ["appId": "a", "masterKey": "m"]
            file.merge(options) { $1 }
            return try Configuration.load(file: file.serialized(), environment: [:], flags: []).warnings
        }
        let direct: JSONObject = ["filesAdapter": Self.s3(["directAccess": true])]
        #expect(try told(direct).contains { $0.contains("fileDownload") && $0.contains("permanently") })
        let signed: JSONObject = ["filesAdapter": Self.s3(["directAccess": true, "presignedUrl": true])]
        #expect(try told(signed).contains { $0.contains("sandbox") && !$0.contains("permanently") })
        let moving = try told(direct.merging(["filesFallback": ["fs"]]) { $1 })
        #expect(moving.contains { $0.contains("filesFallback") } && !moving.contains { $0.contains("fileDownload") })
        #expect(try told(["filesAdapter": Self.s3([:])]).allSatisfy { !$0.contains("directAccess") })
        #expect(throws: ConfigurationError.self) { try told(direct.merging(["encryptionKey": "k"]) { $1 }) }
        #expect(throws: ConfigurationError.self) {
            try told(["filesAdapter": Self.s3(["presignedUrl": true, "presignedUrlExpires": 700_000])])
        }
    }

    @Test(
        "Queries return fresh signed URLs, also within lists, that download from the store",
        .enabled(if: BucketServer.isInstalled))
    func presigned() async throws {
        let options = try await BucketServer.adapter(["directAccess": true, "presignedUrl": true])
        let port = try await BucketServer.port
        try await TestServer.run(options) { server in
            let stored = try await server.send("POST", "/files/song.txt", bytes: Array("0123456789".utf8), as: .master)
            let (given, name) = (try stored.string("url"), try stored.string("name"))
            #expect(given.hasPrefix("http://127.0.0.1:\(port)/files/"), "\(given)")
            let file: JSONValue = ["__type": "File", "name": .string(name), "url": "http://old/x"]
            let id = try await server.create("Song", ["file": file, "list": [["file": file], file]])
            let found = try await server.send("GET", "/classes/Song/\(id)", as: .anonymous)
            let list = try #require(found["list"]?.arrayValue)
            for url in [found["file"]?["url"], list.first?["file"]?["url"], list.last?["url"]] {
                let answer = try await server.send("GET", try #require(url?.stringValue), as: .nobody)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.text == "0123456789")
            }
        }
    }

    @Test(
        "Never signs URLs for names that a client made up, anywhere in an object",
        .enabled(if: BucketServer.isInstalled))
    func inventedNames() async throws {
        var options = try await BucketServer.adapter(["directAccess": true, "presignedUrl": true])
        options["fileDownload"] = [
            "enableForPublic": false, "enableForAnonymousUser": false, "enableForAuthenticatedUser": false,
        ]
        let secrets = ["backups/db.sql", "db.sql", "\(Self.digits)_/db.sql", ".env", "backups/\(Self.digits)/db.sql"]
        try await TestServer.run(options) { server in
            let stored = try await server.send("POST", "/files/song.txt", bytes: Array("0123456789".utf8), as: .master)
            let known = try stored.string("name")
            for name in secrets + [known] {
                let file: JSONValue = ["__type": "File", "name": .string(name)]
                let id = try await server.create(
                    "Song", ["file": file, "list": [["file": file], file], "o": ["f": file]])
                let found = try await server.send("GET", "/classes/Song/\(id)", as: .anonymous)
                let rows = try await server.send(
                    "POST", "/aggregate/Song", ["_method": "GET", "pipeline": [["$match": ["objectId": .string(id)]]]],
                    as: .master)
                for text in [found.text, rows.text] {
                    #expect(text.contains("X-Amz-Signature") == (name == known), "\(name): \(text)")
                }
                guard name != known, let url = found["file"]?["url"]?.stringValue else { continue }
                // Otherwise the URL leads to the server, which checks permissions.
                let refused = try await server.send("GET", url, as: .anonymous)
                #expect(refused.status != 200 && refused.status < 500, "\(refused.text)")
            }
        }
    }

    @Test("Signs URLs for client-chosen names only with preserveFileName, and not within folders")
    func preservedNames() async throws {
        let port = try await FreePort.find()
        let names = ["a.txt", "backups/db.sql", "\(Self.digits)_a.txt", "x/\(Self.digits)_a.txt", "..", "a/../b"]
        for (isPreserved, signed) in [(false, [2, 3]), (true, [0, 2, 3])] {
            for base: JSONValue in ["", "https://cdn.example"] {
                let adapter = Self.s3([
                    "directAccess": true, "presignedUrl": true, "baseUrl": base,
                    "s3overrides": ["endpoint": .string("http://127.0.0.1:\(port)"), "maxAttempts": 1],
                ])
                let storage = try FileStoreFactory.storage(
                    try S3OptionTests.load(["filesAdapter": adapter, "preserveFileName": .bool(isPreserved)]),
                    folder: "",
                    database: "", logger: TestServer.quietLogger)
                // The file doesn't exist, but the request makes the credentials known.
                _ = try? await storage.open(name: "a")
                let locate = try #require(storage.location)
                let found = names.indices.filter { locate(names[$0])?.contains("X-Amz-Signature=") == true }
                #expect(found == signed)
                #expect(names.indices.filter { locate(names[$0]) != nil } == signed)
                await storage.shutdown()
            }
        }
    }

    @Test(
        "Signed URLs work only unmodified, for any name, and download active content as attachments",
        .enabled(if: BucketServer.isInstalled),
        arguments: [
            "\(digits)_song.txt", "dir/\(digits)_a é +%41'(1)*~.txt", "\(digits)_page.html", "\(digits)_unknown",
        ])
    func names(name: String) async throws {
        try await BucketServer.withStorage(["directAccess": true, "presignedUrl": true]) { storage in
            try await storage.write(name: name, bytes: Array("0123456789".utf8))
            let server = TestServer(url: "", databaseURI: "")
            let url = try #require(storage.location?(name))
            let answer = try await server.send("GET", url, as: .nobody)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.text == "0123456789")
            let isSaved = answer.headers["content-disposition"]?.hasPrefix("attachment") ?? false
            #expect(isSaved == !name.hasSuffix("txt"))
            for changed in [
                url.replacing("X-Amz-Expires=900", with: "X-Amz-Expires=901"), String(url.prefix { $0 != "?" }),
                url.replacing("?X-Amz", with: "x?X-Amz"),
            ] {
                let refused = try await server.send("GET", changed, as: .nobody)
                // Swift returns 400 for a request without a signature.
                #expect([400, 403].contains(refused.status), "\(changed)")
            }
        }
    }

    @Test("Signed URLs expire", .enabled(if: BucketServer.isInstalled))
    func expiry() async throws {
        let options: JSONObject = ["directAccess": true, "presignedUrl": true, "presignedUrlExpires": 4]
        try await BucketServer.withStorage(options) { storage in
            let name = Self.digits + "_a.txt"
            try await storage.write(name: name, bytes: [1])
            let server = TestServer(url: "", databaseURI: "")
            let url = try #require(storage.location?(name))
            let now = try await server.send("GET", url, as: .nobody)
            #expect(now.status == 200)
            let hasEnded = try await eventually(within: .seconds(60)) {
                try await server.send("GET", url, as: .nobody).status == 403
            }
            #expect(hasEnded)
            let next = try #require(storage.location?(name))
            #expect(next != url)
        }
    }

    private static func time(_ body: () -> Void) -> Int {
        func now() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let start = now()
        body()
        return now() - start
    }

    @Test("Signing 2,000 URLs takes less than 20 times as long as a hash and an HMAC for each")
    func cost() async throws {
        let port = try await FreePort.find()
        let options: JSONObject = ["directAccess": true, "presignedUrl": true, "s3overrides": ["maxAttempts": 1]]
        try await BucketServer.withStorage(options, endpointPort: port) { storage in
            // The file doesn't exist, but the request makes the credentials known.
            _ = try? await storage.open(name: "a")
            let locate = try #require(storage.location)
            let names = (0..<2000).map { "0123456789abcdef0123456789abcdef_\($0).jpg" }
            #expect(locate(names[0]) != nil)
            // The hashes of a request and its signature, computed in the same build.
            let text = [UInt8](repeating: 97, count: 400)
            let key = SymmetricKey(data: text.prefix(32))
            let sums = Self.time {
                for _ in names {
                    _ = SHA256.hash(data: text)
                    _ = HMAC<SHA256>.authenticationCode(for: text, using: key)
                }
            }
            let addresses = Self.time { for name in names { _ = locate(name) } }
            print("2000 addresses: \(addresses / 1000) us, their sums: \(sums / 1000) us")
            #expect(addresses < 20 * sums)
        }
    }
}
