import Crypto
import FileStores
import Foundation
import JSON
import Outgoing
import ServerConfiguration
import TestTools
import Testing

/// The examples in Amazon's S3 documentation.
@Suite("S3 signatures")
struct S3SignatureTests {
    private static let signature = AWSSignature(
        accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1", service: "s3")
    private static let date = Date(timeIntervalSince1970: 1_369_353_600)
    private static let host = "examplebucket.s3.amazonaws.com"

    @Test(
        "Signs Amazon's published example requests correctly",
        arguments: [
            (
                "GET", "/test.txt", [], [("range", "bytes=0-9")], "",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "PUT", "/test%24file.text", [],
                [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "Welcome to Amazon S3.", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                "GET", "/", ["lifecycle="], [], "",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "GET", "/", ["prefix=J", "max-keys=2"], [], "",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, String, [String], [(String, String)], String, String)])
    func examples(
        method: String, path: String, query: [String], headers: [(String, String)], body: String, expected: String
    ) throws {
        let digest = SHA256.hash(data: Array(body.utf8)).map { String(format: "%02x", $0) }.joined()
        let fields = headers.map { (name: $0.0, value: $0.1) } + [(name: "x-amz-content-sha256", value: digest)]
        let added = Self.signature.headers(
            for: AWSSignature.Request(
                method: method, host: Self.host, path: path, query: query, headers: fields, payload: digest),
            at: Self.date)
        #expect(try #require(added.last?.value).hasSuffix("Signature=\(expected)"))
    }

    @Test("Signs Amazon's published example of a presigned URL correctly")
    func presigned() {
        let query = PresignedQuery(Self.signature, host: Self.host, lifetime: 86_400, at: Self.date)
        #expect(
            query("/test.txt").hasSuffix(
                "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"))
    }

    @Test("Percent-encodes every byte except letters, digits, - . _ ~ and, in keys, the slash")
    func keys() {
        #expect(
            AWSSignature.encode("a b+é%41'()*!~/x", keepingSlashes: true) == "a%20b%2B%C3%A9%2541%27%28%29%2A%21~/x")
        #expect(AWSSignature.encode("a/b=", keepingSlashes: false) == "a%2Fb%3D")
    }

    @Test("Encodes and signs 1,000 random requests and presigned URLs exactly like botocore")
    func second() async throws {
        var random = SplitMix64(seed: 5)
        let scalars = Array(" !\"#$%&'()*+,-./0:;<=>?@A[\\]^_`z{|}~é€\u{301}𝄞\u{1}\u{7F}".unicodeScalars)
        func text(_ most: Int) -> String {
            let length = Int.random(in: 1...most, using: &random)
            var text = String.UnicodeScalarView()
            for _ in 0..<length { text.append(scalars.randomElement(using: &random) ?? "a") }
            return String(text)
        }
        var requests: [JSONValue] = []
        var expected: [[String]] = []
        let query = PresignedQuery(Self.signature, host: Self.host, lifetime: 900, at: Self.date)
        for number in 0..<1000 {
            let (key, value, body) = (text(40), text(10), text(20))
            let method = ["GET", "PUT", "HEAD", "DELETE"][number % 4]
            let digest = SHA256.hash(data: Array(body.utf8)).map { String(format: "%02x", $0) }.joined()
            let path = "/" + AWSSignature.encode(key, keepingSlashes: true)
            let parameters =
                number % 3 == 0
                ? [] : ["uploadId=\(AWSSignature.encode(value, keepingSlashes: false))", "partNumber=\(number)"]
            let range = (name: "range", value: "bytes=0-\(number)")
            let added = Self.signature.headers(
                for: AWSSignature.Request(
                    method: method, host: Self.host, path: path, query: parameters,
                    headers: [range, (name: "x-amz-content-sha256", value: digest)], payload: digest),
                at: Self.date)
            func end(_ text: String) -> String { String(text.split(separator: "Signature=").last ?? "") }
            expected.append(
                [path, parameters.joined(separator: "&"), end(added.last?.value ?? ""), end(query(path))])
            let given: JSONValue = [["uploadId", .string(value)], ["partNumber", .string("\(number)")]]
            requests.append([
                "method": .string(method), "host": .string(Self.host), "key": .string(key), "body": .string(body),
                "headers": ["range": .string(range.value)], "query": parameters.isEmpty ? .array([]) : given,
            ])
        }
        let answer = try await Botocore.ask(
            ["sign"],
            input: [
                "time": "20130524T000000Z", "key": .string(Self.signature.accessKeyId),
                "secret": .string(Self.signature.secretAccessKey), "requests": .array(requests),
            ])
        let found = (answer.arrayValue ?? []).map { ($0.arrayValue ?? []).compactMap(\.stringValue) }
        #expect(found.count == 1000)
        for (found, expected) in zip(found, expected) { #expect(found == expected) }
    }

    @Test("A third-party store accepts the signatures of 1,000 random keys", .enabled(if: BucketServer.isInstalled))
    func random() async throws {
        var random = SplitMix64(seed: 37)
        let scalars = Array(" !\"#$%&'()*+,-.0:;<=>?@A[\\]^_`z{|}~é€\u{301}𝄞/".unicodeScalars)
        try await BucketServer.withStorage { storage in
            for _ in 0..<1000 {
                let length = Int.random(in: 1...40, using: &random)
                var name = String.UnicodeScalarView()
                for _ in 0..<length { name.append(scalars.randomElement(using: &random) ?? "a") }
                // A rejected signature would lead to an error instead of nil.
                let file = try await storage.open(name: String(name))
                #expect(file == nil)
            }
        }
    }
}
