public import JSON
public import NIOCore

/// The answer to one request.
public struct Reply: Sendable {
    /// What an answer carries.
    public enum Body: Sendable {
        /// JSON text.
        case json([UInt8])
        /// Plain text of some type.
        case text(String, contentType: String)
        /// Nothing.
        case empty
        /// Bytes that are made while they are sent.
        case stream(ByteStream)

        /// The bytes that it keeps in memory until they are sent.
        package var bytesInMemory: Int {
            switch self {
            case .json(let bytes): bytes.count
            case .text(let text, _): text.utf8.count
            case .empty: 0
            case .stream(let stream): stream.isInMemory ? stream.length ?? 0 : 0
            }
        }
    }

    /// Bytes that are made while they are sent, so that they never sit in memory together.
    public struct ByteStream: Sendable {
        /// Takes the next bytes; returns when the connection can take more.
        public typealias Sink = @Sendable (ByteBuffer) async throws -> Void

        /// How many bytes will come; nil where that is known at the end.
        public var length: Int?
        /// Whether all of them are in memory from the beginning.
        public var isInMemory: Bool
        /// How many of them are in memory at most, where it is more than a piece of 64 KiB; 0 where it is not.
        public var mostHeld = 0
        /// Receives the rest of the request body while the bytes are sent or after them, and nil at its end. Returns false to
        /// get no more.
        package var takeRest: (@Sendable (ByteBuffer?) async -> Bool)?
        /// Whether to send the head at once instead of with the first bytes.
        package var sendsHeadFirst = false
        /// Gives the bytes to the sink, piece by piece.
        public var produce: @Sendable (@escaping Sink) async throws -> Void

        /// A stream of `length` bytes that `produce` makes.
        public init(
            length: Int?, isInMemory: Bool = false, produce: @escaping @Sendable (@escaping Sink) async throws -> Void
        ) {
            self.length = length
            self.isInMemory = isInMemory
            self.produce = produce
        }
    }

    /// The HTTP status.
    public var status: Int
    /// Header fields beyond those that every answer has.
    public var headers: [(String, String)]
    /// The content.
    public var body: Body
    /// The number of Parse's error, where it is one, for the log.
    var code: Int?
    /// Whether it is for pages of the server's own origin alone.
    package var isForOwnOrigin = false

    /// Whether another server made it, whose header fields go to the client as they are.
    package var isRelayed = false

    /// Makes an answer.
    public init(status: Int = 200, headers: [(String, String)] = [], body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The same answer, whose line in the log has the number of Parse's error.
    package func noting(code: Int?) -> Reply {
        var reply = self
        reply.code = code
        return reply
    }

    /// An answer with JSON text that is already written.
    public static func json(_ bytes: [UInt8], status: Int = 200) -> Reply {
        Reply(status: status, body: .json(bytes))
    }

    /// An answer with a JSON object.
    public static func object(_ object: JSONObject, status: Int = 200) -> Reply {
        Reply(status: status, body: .json(JSONValue.object(object).serialized()))
    }
}
