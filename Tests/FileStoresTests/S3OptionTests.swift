import FileStores
import JSON
import Logging
import ServerConfiguration
import TestSupport
import Testing

/// The formats in which parse-server's users configure a bucket.
@Suite("S3 options")
struct S3OptionTests {
    static func load(_ options: JSONObject, _ environment: [String: String] = [:]) throws -> Configuration {
        var file: JSONObject = ["appId": "a", "masterKey": "m"]
        file.merge(options) { $1 }
        return try Configuration.load(file: file.serialized(), environment: environment, flags: []).configuration
    }

    private static func bucket(_ options: JSONObject, _ environment: [String: String] = [:]) throws -> Configuration.S3
    {
        let adapter: JSONValue = ["module": "@parse/s3-files-adapter", "options": .object(options)]
        guard case .s3(let bucket) = try load(["filesAdapter": adapter], environment).fileStore else {
            throw ConfigurationError("another store")
        }
        return bucket
    }

    private static func refusal(_ options: JSONObject) -> String? {
        do {
            _ = try bucket(options)
            return nil
        } catch {
            return (error as? ConfigurationError)?.message
        }
    }

    @Test(
        "Accepts each documented module name and reads all options from the environment",
        arguments: ["@parse/s3-files-adapter", "parse-server-s3-adapter", "S3Adapter", "./Files/S3Adapter.js", "s3"])
    func modules(name: String) throws {
        let environment = [
            "S3_BUCKET": "songs", "S3_REGION": "eu-west-1", "S3_BUCKET_PREFIX": "p/", "S3_ACCESS_KEY": "k",
            "S3_SECRET_KEY": "s", "S3_FILE_ACL": "private", "S3_GLOBAL_CACHE_CONTROL": "max-age=60",
            "S3_DIRECT_ACCESS": "false", "PARSE_SERVER_FILES_ADAPTER": name,
        ]
        guard case .s3(let bucket) = try Self.load([:], environment).fileStore else {
            Issue.record("another store")
            return
        }
        #expect(bucket.bucket == "songs")
        #expect(bucket.region == "eu-west-1")
        #expect(bucket.prefix == "p/")
        #expect(bucket.key?.accessKeyId == "k")
        #expect(bucket.acl == "private")
        #expect(bucket.cacheControl == "max-age=60")
        let address = S3Address(bucket)
        #expect(address.url(address.path("p/a b"), []) == "https://songs.s3.eu-west-1.amazonaws.com/p/a%20b")
    }

    @Test("Precedence is s3overrides, options, environment; empty options are ignored")
    func order() throws {
        let environment = ["S3_BUCKET": "variable", "S3_REGION": "eu-west-1"]
        #expect(try Self.bucket(["bucket": "option"], environment).bucket == "option")
        #expect(try Self.bucket(["bucket": ""], environment).bucket == "variable")
        let overrides: JSONValue = ["params": ["Bucket": "override"], "region": "auto"]
        let bucket = try Self.bucket(["bucket": "option", "s3overrides": overrides], environment)
        #expect(bucket.bucket == "override")
        #expect(bucket.region == "auto")
    }

    @Test(
        "Accepts credentials in each documented option",
        arguments: [
            ["accessKey": "k", "secretKey": "s"],
            ["credentials": ["accessKeyId": "k", "secretAccessKey": "s"]],
            ["s3overrides": ["accessKeyId": "k", "secretAccessKey": "s"]],
            ["s3overrides": ["credentials": ["accessKeyId": "k", "secretAccessKey": "s"]]],
        ] as [JSONObject])
    func credentials(options: JSONObject) throws {
        var options = options
        options["bucket"] = "b"
        let bucket = try Self.bucket(options)
        #expect(bucket.key?.accessKeyId == "k")
        #expect(bucket.key?.secretAccessKey == "s")
    }

    @Test(
        "Builds path-style and virtual-hosted URLs for the endpoints of common providers",
        arguments: [
            ("http://minio:9000", true, "http://minio:9000/b/k"),
            ("http://10.0.0.3:9000/", nil, "http://10.0.0.3:9000/b/k"),
            ("http://[FD00::3]:9000", true, "http://[FD00::3]:9000/b/k"),
            ("account.r2.cloudflarestorage.com", nil, "https://b.account.r2.cloudflarestorage.com/k"),
            ("https://s3.eu-central-003.backblazeb2.com:443", false, "https://b.s3.eu-central-003.backblazeb2.com/k"),
            ("https://store.example/s3", true, "https://store.example/s3/b/k"),
        ] as [(String, Bool?, String)])
    func endpoints(endpoint: String, pathStyle: Bool?, expected: String) throws {
        var overrides: JSONObject = ["endpoint": .string(endpoint)]
        if let pathStyle { overrides["forcePathStyle"] = .bool(pathStyle) }
        let address = S3Address(try Self.bucket(["bucket": "b", "s3overrides": .object(overrides)]))
        #expect(address.url(address.path("k"), []) == expected)
    }

    @Test("Uses path-style URLs for bucket names with dots")
    func dots() throws {
        let address = S3Address(try Self.bucket(["bucket": "my.songs", "region": "us-west-2"]))
        #expect(address.url(address.path("k"), []) == "https://s3.us-west-2.amazonaws.com/my.songs/k")
    }

    @Test("Errors about malformed adapter JSON don't reveal the secret key")
    func keys() {
        let text = #"{"module":"s3","options":{"secretKey":"hidden""#
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.FileStore.read(text, environment: [:])
        }
        #expect(error.map { !"\($0)".contains("hidden") } == true)
    }

    @Test(
        "Rejects missing, unsupported and unsafe options by name",
        arguments: [
            ([:], "requires option 'bucket'"),
            (["bucket": "b", "generateKey": "f"], "generateKey"),
            (["bucket": "b", "validateFilename": "f"], "validateFilename"),
            (["bucket": "b", "signatureVersion": "v2"], "signatureVersion"),
            (["bucket": "b", "ServerSideEncryption": "AES"], "ServerSideEncryption"),
            (["bucket": "b", "s3overrides": ["useAccelerateEndpoint": true]], "useAccelerateEndpoint"),
            (["bucket": "b", "s3overrides": ["endpoint": "http://store.example"]], "allowInsecureEndpoint"),
            (["bucket": "b", "s3overrides": ["endpoint": "http://169.254.169.254"]], "endpoint"),
            (["bucket": "b", "accessKey": "k"], "secretKey"), (["bucket": "b", "other": 1], "other"),
        ] as [(JSONObject, String)])
    func refused(options: JSONObject, word: String) {
        #expect(Self.refusal(options)?.contains(word) == true, "\(Self.refusal(options) ?? "taken")")
    }
}
