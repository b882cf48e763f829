import FileStorage
import Foundation
import HTTP
import NIOCore
import REST
import TestSupport
import Testing

@Suite("Encrypted files")
struct FilesEncryptionTests {
    private typealias Server = TransportServer

    private static func bytes(of name: String, in directory: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name)))
    }

    @Test("Stores uploads encrypted, and serves them decrypted, whole and in ranges")
    func upAndDown() async throws {
        let directory = Server.temporaryDirectory()
        try await Server.run(directory: directory, cipher: FileCipher(secret: "secret")) { client in
            let text = String(repeating: "0123456789", count: 3000)
            let stored = try await client.request(
                "POST", "/parse/files/a.txt", headers: Server.master.merging(["Content-Type": "text/plain"]) { $1 },
                text: text)
            let name = try #require(stored.json["name"]?.stringValue)
            let sealed = try Self.bytes(of: name, in: directory)
            #expect(sealed.count == text.utf8.count + 32)
            #expect(!String(decoding: sealed, as: UTF8.self).contains("0123456789"))
            let whole = try await client.request("GET", "/parse/files/app/\(name)")
            #expect(whole.status == 200)
            #expect(whole.text == text)
            #expect(whole.header("Content-Length") == "30000")
            let part = try await client.request("GET", "/parse/files/app/\(name)", headers: ["Range": "bytes=29998-"])
            #expect(part.status == 206)
            #expect(part.text == "89")
            #expect(part.header("Content-Range") == "bytes 29998-29999/30000")
            let head = try await client.request("HEAD", "/parse/files/app/\(name)")
            #expect(head.header("Content-Length") == "30000")
        }
    }

    @Test("Reads a file that was encrypted for parse-server by Node's crypto module")
    func fromParseServer() async throws {
        // AES-256-GCM with the first 32 characters of the Base64 text of sha256("89E4AFF1-DFE4-4603-9574-BFA16BB446FD")
        // as its key.
        let sealed = try #require(Data(base64Encoded: Self.sealedByNode))
        let directory = Server.temporaryDirectory()
        try await DiskStorage(directory: directory).write(name: "old.txt", bytes: Array(sealed))
        let cipher = FileCipher(secret: "89E4AFF1-DFE4-4603-9574-BFA16BB446FD")
        try await Server.run(directory: directory, cipher: cipher) { client in
            let answer = try await client.request("GET", "/parse/files/app/old.txt")
            #expect(answer.status == 200)
            #expect(answer.text == "hello world")
        }
    }

    private static let sealedByNode = "tKGG0ePOumxaUF96un5MRrPM5+Ttfh6x838Fh7nSAq0XNnrPEBr/Ga5bbQ=="

    @Test("Files that are unencrypted, modified, too short or encrypted with another key are not found")
    func notAuthentic() async throws {
        let directory = Server.temporaryDirectory()
        let cipher = FileCipher(secret: "secret")
        var changed = try cipher.seal(Array("0123456789".utf8))
        changed[3] ^= 1
        let disk = DiskStorage(directory: directory)
        try await disk.write(name: "other.txt", bytes: try FileCipher(secret: "other").seal(Array("0123456789".utf8)))
        try await disk.write(name: "open.txt", bytes: [UInt8](repeating: 65, count: 100))
        try await disk.write(name: "changed.txt", bytes: changed)
        try await disk.write(name: "short.txt", bytes: [1, 2, 3])
        try await disk.write(name: "empty.txt", bytes: try cipher.seal([]))
        let log = LogLines()
        try await Server.run(logger: log.logger, directory: directory, cipher: cipher) { client in
            for name in ["other.txt", "open.txt", "changed.txt", "short.txt"] {
                let answer = try await client.request("GET", "/parse/files/app/\(name)")
                #expect(answer.status == 404, "\(name)")
                #expect(answer.text == "File not found.", "\(name)")
            }
            #expect(try await client.request("GET", "/parse/files/app/empty.txt").status == 200)
        }
        // Anyone who knows a file's name can download the file, so logs don't contain names.
        let lines = log.all.filter { $0.contains("can't decrypt a file") }
        #expect(lines.count == 4 && !lines.contains { $0.contains(".txt") })
    }

    @Test("Concurrent uploads wait for memory instead of failing, and are stored unchanged")
    func turns() async throws {
        var limits = HTTPServer.Limits()
        // Enough for five uploads and the first bytes of the others.
        limits.transferMemory = 4 * 1024 * 1024
        // On a busy machine, no upload is closed as the slowest.
        limits.grace = .seconds(120)
        try await Server.run(limits: limits, cipher: FileCipher(secret: "secret")) {
            $0.maxUploadSize = 1024 * 1024
        } body: { client in
            let size = 600_000
            let names = try await withThrowingTaskGroup(of: (String, UInt8).self) { group in
                for number in 0..<12 as Range<UInt8> {
                    group.addTask {
                        let bytes = [UInt8](repeating: number, count: size)
                        let stored = try await client.request(
                            "POST", "/parse/files/a.bin", headers: Server.master, body: bytes)
                        #expect(stored.status == 201, "\(stored.text)")
                        return (try #require(stored.json["name"]?.stringValue), number)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (name, number) in names {
                let bytes = try await client.request("GET", "/parse/files/app/\(name)").body
                let isWhole = bytes.count == size && bytes.allSatisfy { $0 == number }
                #expect(isWhole)
            }
        }
    }

    @Test("Encrypts the same content differently each time")
    func vectors() throws {
        let cipher = FileCipher(secret: "secret")
        let sealed = try (0..<20).map { _ in try cipher.seal(Array("same".utf8)) }
        #expect(Set(sealed).count == 20)
        for one in sealed { #expect(try cipher.open(one) == Array("same".utf8)) }
    }
}
