import Hummingbird
import Logging

/// Serves `GET /parse/health` on 127.0.0.1 and the port given as argument.
@main
struct Bare {
    struct Health: ResponseEncodable {
        var status: String
    }

    static func main() async throws {
        guard CommandLine.arguments.count == 2, let port = Int(CommandLine.arguments[1]) else {
            print("usage: bare PORT")
            return
        }
        let router = Router()
        router.get("parse/health") { _, _ in Health(status: "ok") }
        var logger = Logger(label: "bare")
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            logger: logger)
        try await application.runService()
    }
}
