public import JSON
public import NIOCore

/// The response to a request.
public struct Reply: Sendable {
    /// The content of a response.
    public enum Body: Sendable {
        /// JSON text in UTF-8.
        case json([UInt8])
        case text(String, contentType: String)
        case empty
        case stream(ByteStream)

        /// The number of bytes held in memory until they are sent.
        package var bytesInMemory: Int {
            switch self {
            case .json(let bytes): bytes.count
            case .text(let text, _): text.utf8.count
            case .empty: 0
            case .stream(let stream): stream.isInMemory ? stream.length ?? 0 : 0
            }
        }
    }

    /// Bytes that are generated while they are sent, so that they needn't be in memory at the same time.
    public struct ByteStream: Sendable {
        /// A function that sends the next bytes and returns when the connection can take more.
        public typealias Sink = @Sendable (ByteBuffer) async throws -> Void

        /// The total number of bytes, or nil if it is unknown until the end.
        public var length: Int?
        /// Whether all bytes are in memory from the beginning.
        public var isInMemory: Bool
        /// The maximum number of bytes in memory if larger than a piece of 64 KiB, otherwise 0.
        public var maxHeldBytes = 0
        /// A function that receives the rest of the request body while the bytes are sent or after them, and nil at its
        /// end. It returns false to stop.
        package var receiveRest: (@Sendable (ByteBuffer?) async -> Bool)?
        /// Whether to send the head at once instead of with the first bytes.
        package var sendsHeadFirst = false
        /// The function that generates the bytes and passes them to the sink, piece by piece.
        public var produce: @Sendable (@escaping Sink) async throws -> Void

        public init(
            length: Int?, isInMemory: Bool = false, produce: @escaping @Sendable (@escaping Sink) async throws -> Void
        ) {
            self.length = length
            self.isInMemory = isInMemory
            self.produce = produce
        }
    }

    public var status: Int
    /// Header fields in addition to those of every response.
    public var headers: [(String, String)]
    public var body: Body
    /// The Parse error code for the log and the span, or nil if the response isn't a Parse error.
    package var code: Int?
    /// Whether the response has no CORS fields, so that only pages of the server's own origin can read it.
    package var isForOwnOrigin = false

    /// Whether another server created the response, so that its header fields are passed on and few are added.
    package var isRelayed = false

    public init(status: Int = 200, headers: [(String, String)] = [], body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns a response with JSON text that is already serialized.
    public static func json(_ bytes: [UInt8], status: Int = 200) -> Reply {
        Reply(status: status, body: .json(bytes))
    }

    public static func object(_ object: JSONObject, status: Int = 200) -> Reply {
        Reply(status: status, body: .json(JSONValue.object(object).serialized()))
    }
}
