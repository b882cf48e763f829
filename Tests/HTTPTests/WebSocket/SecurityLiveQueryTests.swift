import TestSupport
import Testing

/// Advisories of class D for a server without live queries, which has no endpoint for them. `LiveQueryAccessTests`
/// tests servers with live queries.
@Suite struct SecurityLiveQueryTests {
    private typealias Server = TransportServer

    @Test(
        """
        GHSA-2xm2-xj2q-qgpj, 7pr3-p5fm-8r9x, 7ch5-98q2-7289, fph2-r4qg-9576, 97pr-9hgg-3p8r, mf3j-86qx-cq5j, \
        827p-g5x5-h86c, 6qh5-m6g3-xhq6: a server without live queries rejects WebSockets on every path
        """,
        arguments: ["/", "/parse", "/parse/", "/parse/liveQuery", "/parse/subscriptions", "/parse/classes/Song"])
    func webSockets(path: String) async throws {
        try await Server.run { client in
            let answer = try await client.connect { connection in
                try await connection.send(
                    "GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
                return try await connection.receive()
            }
            let status = try #require(answer?.status)
            #expect(status == 401 || status == 403 || status == 404, "\(status)")
            #expect(answer?.header("Upgrade") == nil)
        }
    }
}
