import JSON

package enum HostMessage {
    /// The first message. It proves that the server started the process.
    case connect(secret: String)
    /// The file is loaded.
    case hello(HostOffer)
    /// The registrations of the file have changed.
    case register(HostOffer)
    /// The app listens on its socket.
    case app
    /// The app's routes have finished their open requests.
    case drained
    /// The adapter that is being loaded, or empty if none is.
    case loading(String)
    /// The file could not be loaded.
    case failed(stack: String)
    case result(id: Int, JSONObject)
    case log(level: String, text: String, requestID: String?)
    case progress(call: Int, text: String)
    case rest(id: Int, JSONObject)
    case mail(id: Int, JSONObject)
    /// The response to a ping, with the event loop's maximum delay since the previous one, in milliseconds.
    case pong(lag: Double)

    /// Returns whether later messages may be handled before this one. Relies on processes writing the type first.
    static func mayBeOvertaken(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.starts(with: Array(#"{"type":"result""#.utf8)) || bytes.starts(with: Array(#"{"type":"rest""#.utf8))
    }

    /// Parses a message.
    ///
    /// - Throws: `Invalid`, or the parser's error if the message isn't JSON.
    package init(parsing bytes: some Sequence<UInt8>) throws {
        guard case .object(let object) = try JSONValue(parsing: bytes), let type = object["type"]?.stringValue else {
            throw Invalid()
        }
        func text(_ name: Name) -> String { object[name]?.stringValue ?? "" }
        func id() throws -> Int {
            guard let number = object["id"]?.numberValue, let id = Int(exactly: number) else { throw Invalid() }
            return id
        }
        switch type {
        case "connect": self = .connect(secret: text("secret"))
        case "hello": self = .hello(HostOffer(object))
        case "register": self = .register(HostOffer(object))
        case "app": self = .app
        case "drained": self = .drained
        case "loading": self = .loading(text("text"))
        case "failed": self = .failed(stack: text("stack"))
        case "result": self = .result(id: try id(), object)
        case "log":
            self = .log(level: text("level"), text: text("text"), requestID: object["request"]?.stringValue)
        case "message": self = .progress(call: try id(), text: text("text"))
        case "rest": self = .rest(id: try id(), object)
        case "mail": self = .mail(id: try id(), object["mail"]?.objectValue ?? [:])
        case "pong": self = .pong(lag: object["lagMs"]?.numberValue ?? 0)
        default: throw Invalid()
        }
    }

    struct Invalid: Error, CustomStringConvertible {
        var description: String { "invalid message" }
    }
}
