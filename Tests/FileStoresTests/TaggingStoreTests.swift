import FileStorage
import FileStores
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Object tags, ACLs and server-side encryption")
struct TaggingStoreTests {
    @Test("Stores file tags as object tags that botocore reads, and sends no tag header without tags")
    func tags() async throws {
        try await TaggingStore.run { port in
            try await BucketServer.withStorage(endpointPort: port) { storage in
                let given: JSONObject = ["genre": "Jazz/Größe a+b=c", "year": "1999"]
                try await storage.write(name: "a b.mp3", details: FileDetails(tags: given), bytes: [1])
                let tags = try await storage.details(name: "a b.mp3").tags
                #expect(tags.count == 2)
                #expect(tags["genre"] == given["genre"] && tags["year"] == given["year"])
                let seen = try await Botocore.ask(
                    ["tags", "http://127.0.0.1:\(port)"] + Botocore.keys + [storage.client.bucket.prefix + "a b.mp3"])
                #expect(seen["genre"] == given["genre"] && seen["year"] == given["year"])
                try await storage.write(name: "b.mp3", bytes: [1])
                let none = try await storage.details(name: "b.mp3").tags
                #expect(none.isEmpty)
            }
        }
        let (error, calls) = try await S3FaultTests.upload(10) { _, _ in nil }
        #expect(error == nil)
        #expect(!calls.isEmpty && calls.allSatisfy { $0.headers["x-amz-tagging"] == nil })
    }

    @Test(
        "Uploads are publicly readable with directAccess unless fileAcl says otherwise",
        arguments: [(nil, 200), ("none", 403), ("private", 403)] as [(String?, Int)])
    func permissions(acl: String?, status: Int) async throws {
        try await TaggingStore.run { port in
            var others: JSONObject = ["directAccess": true]
            if let acl { others["fileAcl"] = .string(acl) }
            let options = try await BucketServer.adapter(others, endpointPort: port)
            try await TestServer.run(options) { server in
                let stored = try await server.send(
                    "POST", "/files/song%201~a.txt", bytes: Array("0123456789".utf8), as: .master)
                let url = try stored.string("url")
                #expect(url.hasPrefix("http://127.0.0.1:\(port)/files/"), "\(url)")
                let answer = try await server.send("GET", url, as: .nobody)
                #expect(answer.status == status, "\(answer.text)")
                if status == 200 { #expect(answer.text == "0123456789") }
            }
        }
    }

    @Test("Requests server-side encryption only if the option is set")
    func encryption() async throws {
        try await TaggingStore.run { port in
            for (options, expected) in [(["ServerSideEncryption": "AES256"], "AES256"), ([:], nil)]
                as [(JSONObject, String?)]
            {
                try await BucketServer.withStorage(options, endpointPort: port) { storage in
                    // A multipart upload requests encryption when it is created.
                    for size in [10, S3Upload.partSize + 1] {
                        try await storage.write(name: "a", details: FileDetails(), contents: Chunks(size: size))
                        let (answer, _) = try await storage.client.exchange(S3Request("HEAD", storage.key(of: "a")))
                        #expect(answer.header("x-amz-server-side-encryption") == expected, "\(size)")
                    }
                }
            }
        }
    }
}
