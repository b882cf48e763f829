import FileStores
import Foundation
import JSON
import TestSupport
import Testing

/// Connections that break between the client and the server or between the server and the bucket.
@Suite("Broken connections between clients, server and bucket")
struct S3ConnectionTests {
    private static func client(of server: TestServer) -> TransportClient {
        TransportClient(port: URL(string: server.url)?.port ?? 0)
    }

    @Test("Aborts the multipart upload of a client that disconnects")
    func leaving() async throws {
        let block = [UInt8](repeating: 7, count: 1024 * 1024)
        try await StoreStandIn.run(S3FaultTests.store()) { store in
            var options = try await BucketServer.adapter(endpointPort: store.port)
            options["maxUploadSize"] = "60mb"
            try await TestServer.run(options) { server in
                try await Self.client(of: server).connect { connection in
                    try await connection.send(
                        "POST /parse/files/a.bin HTTP/1.1\r\nHost: x\r\n"
                            + "X-Parse-Application-Id: \(TestServer.applicationID)\r\n"
                            + "X-Parse-Master-Key: \(TestServer.masterKey)\r\n"
                            + "Content-Length: \(30 * block.count)\r\n\r\n")
                    for _ in 0..<20 { try await connection.send(block) }
                    let isStored = try await eventually { store.calls.contains { $0.has("partNumber=1") } }
                    #expect(isStored)
                }
                let isGivenUp = try await eventually(within: .seconds(60)) {
                    store.calls.contains { $0.method == "DELETE" && $0.has("uploadId") }
                }
                #expect(isGivenUp)
                #expect(!store.calls.contains { $0.method == "POST" && $0.has("uploadId") })
            }
        }
    }

    @Test("Closes the client's connection if the store truncates a file, without sending the next response")
    func cutting() async throws {
        let half = String(repeating: "x", count: 100_000)
        let behaviour = S3FaultTests.store { call, _ in
            call.method == "GET" && call.has("short.bin") ? .cut(half, length: 2 * half.utf8.count) : nil
        }
        try await StoreStandIn.run(behaviour) { store in
            try await TestServer.run(try await BucketServer.adapter(endpointPort: store.port)) { server in
                let path = "/parse/files/\(TestServer.applicationID)"
                let answer = try await Self.client(of: server).connect { connection in
                    // The second request is pipelined. Its response must not follow the truncated first one.
                    try await connection.send("GET \(path)/short.bin HTTP/1.1\r\nHost: x\r\n\r\n")
                    try await connection.send("GET \(path)/other.bin HTTP/1.1\r\nHost: x\r\n\r\n")
                    return try await connection.receive()
                }
                #expect(answer == nil, "\(answer?.text.prefix(100) ?? "")")
            }
        }
    }
}
