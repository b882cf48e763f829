#if os(Linux)
    import FileStorage
    import Foundation
    import HTTP
    import TestSupport
    import Testing

    @Suite("File descriptors of downloads")
    struct FilesDescriptorTests {
        private typealias Server = TransportServer

        /// The files of a folder that this process has open, by their current names.
        private static func open(in directory: String) -> [String] {
            let folder = "/proc/self/fd"
            let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return
                descriptors
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
                .filter { $0.hasPrefix(directory) }
        }

        @Test(
            "Closes the file after a download, even if it was replaced or deleted or the client disconnected",
            arguments: ["kept", "replaced", "deleted", "folder", "left"])
        func closed(what: String) async throws {
            let directory = Server.temporaryDirectory()
            let store = DiskStorage(directory: directory)
            let bytes = [UInt8](repeating: 7, count: 16_000_000)
            if what == "folder" {
                try FileManager.default.createDirectory(
                    atPath: directory + "/large.bin", withIntermediateDirectories: true)
            } else {
                try await store.write(name: "large.bin", bytes: bytes)
            }
            try await Server.run(directory: directory) { client in
                try await client.connect { connection in
                    try await connection.send("GET /parse/files/app/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                    try await connection.awaitAnswer()
                    #expect(Self.open(in: directory).count == (what == "folder" ? 0 : 1))
                    if what == "replaced" { try await store.write(name: "large.bin", bytes: [1]) }
                    if what == "deleted" { try await store.delete(name: "large.bin") }
                    if what == "left" { return }
                    let body = try await connection.receive()?.body
                    let isWhole = body == bytes
                    #expect(isWhole == (what != "folder"))
                }
                let areClosed = try await eventually { Self.open(in: directory).isEmpty }
                #expect(areClosed)
            }
        }

        @Test("Closes the file when a client that doesn't read is disconnected")
        func unread() async throws {
            let directory = Server.temporaryDirectory()
            try await DiskStorage(directory: directory)
                .write(name: "large.bin", bytes: [UInt8](repeating: 7, count: 16_000_000))
            var limits = HTTPServer.Limits()
            limits.stall = .milliseconds(400)
            try await Server.run(limits: limits, directory: directory) { client in
                try await client.connect { connection in
                    try await connection.send("GET /parse/files/app/large.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                    // On a busy machine, the connection may be cut off before anything was read.
                    try? await connection.awaitAnswer()
                    let areClosed = try await eventually { Self.open(in: directory).isEmpty }
                    #expect(areClosed)
                    let answer = try await connection.receive()
                    #expect(answer == nil)
                }
            }
        }
    }
#endif
