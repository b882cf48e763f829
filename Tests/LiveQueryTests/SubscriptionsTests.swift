import HTTP
import JSON
import Limits
import LiveQuery
import Logging
import NIOCore
import Operations
import ParseStorage
import Postgres
import ServerConfiguration
import TestSupport
import Testing

@Suite("Subscriptions of a live-query connection")
struct SubscriptionsTests {
    private static func server() throws -> LiveQueryServer {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let configuration = try TransportServer.configuration()
        let client = PostgresClient(configuration: PostgresConfiguration(connectionString: ""), logger: logger)
        let catalog = SchemaCatalog(client: client, senderId: "test", refusesMixedMembership: false, logger: logger)
        let backend = Backend(
            configuration: configuration, store: ObjectStore(client: client, catalog: catalog, logger: logger),
            files: nil, logger: logger)
        return try LiveQueryServer(
            backend, ChangeFeed(configuration.liveQuery, logger: logger), address: { ClientAddress($0.peer) },
            mountURL: { $0.path },
            logger: logger)
    }

    @Test("Stops following users whose sessions no subscription uses")
    func users() throws {
        let server = try Self.server()
        var subscriptions = Subscriptions(of: server, for: .server, into: ChangeInbox())
        subscriptions.ownSession = "own"
        subscriptions.follow(user: "me", of: "own")
        for number in 0..<1_000 {
            subscriptions.follow(user: "user", of: "session \(number)")
            subscriptions.forgetSessions()
        }
        #expect(subscriptions.users == ["own": "me"])
        #expect(server.feed.hasFollowers)
        subscriptions.ownSession = nil
        subscriptions.forgetSessions()
        #expect(subscriptions.users.isEmpty)
        #expect(!server.feed.hasFollowers)
    }
}
