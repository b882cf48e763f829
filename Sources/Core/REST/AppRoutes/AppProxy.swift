import Encoding
import HTTP
import Limits
import NIOCore
import NIOHTTP1
package import ServerConfiguration

/// Forwards requests outside the mount path to an app's own routes, which a Node process serves on a Unix socket.
package struct AppProxy: Sendable {
    /// Waits up to the given time for the app to listen, and returns its socket, or nil if the app is down.
    package typealias FindSocket = @Sendable (_ within: Duration) async -> String?

    private let findSocket: FindSocket
    private let mount: String
    private let maximumBodySize: Int
    private let fields: AppFields
    /// One network gets at most three quarters of the slots. Cloud code has separate slots.
    private let gate: Gate

    /// The time limit for the start of the app's response, counted from the end of the request.
    private static let headTime = Duration.seconds(60)
    /// The time limit for the app to send the next part of its response or to read the next part of a body.
    private static let silence = Duration.seconds(60)
    private static let startTime = Duration.seconds(5)
    /// The maximum number of concurrent requests per configured worker. The workers share the total.
    private static let maxOpen = 256

    /// - Throws: The first invalid address in the configuration.
    package init(
        _ configuration: Configuration, findSocket: @escaping FindSocket
    ) throws(AddressList.InvalidEntry) {
        self.findSocket = findSocket
        mount = configuration.mount
        maximumBodySize = configuration.maxUploadSize
        fields = AppFields(try ApplicationKeys(configuration))
        gate = Gate(capacity: Self.maxOpen * max(1, configuration.cloudMain.workers), leavesRoom: true, maxWaiting: 0)
    }

    /// Forwards a request to the app and returns its response, or 503 if the app is down or too many requests are open.
    ///
    /// - Parameters:
    ///   - client: The client's address, as reported by trusted proxies.
    ///   - scheme: The scheme that the client used, `http` or `https`.
    ///   - host: The host that the client requested, as reported by trusted proxies.
    /// - Throws: `HTTPError` if the request can't be forwarded, or the app times out or closes the connection.
    func answer(
        _ request: IncomingRequest, client: String, scheme: String, host: String
    ) async throws -> Reply {
        if ["TRACE", "CONNECT"].contains(request.method) {
            throw HTTPError(status: 405, message: "Method Not Allowed")
        }
        guard request.target.utf8.first == UInt8(ascii: "/"), !Self.isBelow(mount, request.target) else {
            throw HTTPError.noRoute(method: request.method, path: request.target.prefix { $0 != "?" })
        }
        let upgrades = request.headers.all.filter { $0.name.asciiLowercased == "upgrade" }
        guard !upgrades.contains(where: { $0.value.asciiLowercased == "websocket" }) else {
            throw HTTPError(status: 501, message: "WebSocket connections to the app are not supported.")
        }
        if let length = request.body.declaredLength, length > maximumBodySize { throw HTTPError.bodyTooLarge }
        guard let place = GatePlace.acquire(in: gate) else { return Self.unavailable("Too many requests are open.") }
        let exchange: AppExchange
        do {
            guard let socket = await findSocket(Self.startTime) else { throw AppExchange.Broken() }
            exchange = try await AppExchange.open(socket) { place.release() }
        } catch {
            return Self.unavailable("The app is not running.")
        }
        let presence = CallerPresence.current
        let departure = presence?.onLeaving { [weak exchange] in exchange?.close() }
        do {
            let head = try await exchangeHeads(request, exchange, client: client, scheme: scheme, host: host)
            let isUploaded = request.body.isComplete
            return reply(head, of: exchange, hasBody: !request.isHead, isUploaded: isUploaded) {
                if let departure { presence?.forget(departure) }
            }
        } catch {
            if let departure { presence?.forget(departure) }
            exchange.close()
            switch error {
            case is AppExchange.Silent: throw HTTPError(status: 504, message: "The app timed out.")
            case is AppExchange.Broken: throw HTTPError(status: 502, message: "The app ended its response early.")
            default: throw error
            }
        }
    }

    private static func unavailable(_ reason: String) -> Reply {
        Reply(
            status: 503, headers: [("Retry-After", "5")],
            body: .text(reason, contentType: "text/plain; charset=utf-8"))
    }

    private func exchangeHeads(
        _ request: IncomingRequest, _ exchange: AppExchange, client: String, scheme: String, host: String
    ) async throws -> HTTPResponseHead {
        let head = HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method),
            uri: AppFields.target(request.target),
            headers: fields.request(request, client: client, scheme: scheme, host: host))
        if request.body.isComplete {
            exchange.sendAll(head)
            return try await Self.head(of: exchange, within: Self.headTime)
        }
        guard await exchange.send(.head(head), within: Self.silence) else { throw AppExchange.Broken() }
        let answer = OneTime<Result<HTTPResponseHead, any Error>>()
        let wake = request.body.wake
        Task {
            do {
                answer.set(.success(try await Self.head(of: exchange, within: nil)))
            } catch {
                answer.set(.failure(error))
            }
            exchange.wake()
            wake()
        }
        let isRead = try await request.body.pass(
            unless: { answer.value != nil },
            to: { chunk in
                guard isInLimit(chunk, exchange) else { throw HTTPError.bodyTooLarge }
                return await exchange.send(Self.part(chunk), within: Self.silence) { answer.value != nil }
            })
        // The limit starts after the body. An app that stopped reading has exceeded its limit already, but a broken
        // connection needs a moment to report its error.
        guard let result = await answer.wait(isRead ? Self.headTime : .seconds(1)) else { throw AppExchange.Silent() }
        return try result.get()
    }

    private static func part(_ chunk: ByteBuffer?) -> HTTPClientRequestPart {
        chunk.map { .body(.byteBuffer($0)) } ?? .end(nil)
    }

    private func isInLimit(_ chunk: ByteBuffer?, _ exchange: AppExchange) -> Bool {
        exchange.sentBytes + (chunk?.readableBytes ?? 0) <= maximumBodySize
    }

    /// - Parameters:
    ///   - isUploaded: Whether the app has the whole body. Otherwise the rest is sent while the response streams.
    ///   - ended: Called when the client's disconnection no longer matters.
    private func reply(
        _ head: HTTPResponseHead, of exchange: AppExchange, hasBody: Bool, isUploaded: Bool,
        ended: @escaping @Sendable () -> Void
    ) -> Reply {
        let (headers, length) = AppFields.answer(head.headers)
        let isEmpty = [204, 304].contains(head.status.code) || length == 0
        var stream = Reply.ByteStream(length: isEmpty ? 0 : length) { sink in
            var isWhole = false
            defer {
                ended()
                end(exchange, isUploaded: isUploaded || !isWhole)
            }
            while true {
                switch try await exchange.next(within: Self.silence) {
                case .body(let piece): try await sink(piece)
                case .end:
                    isWhole = true
                    return
                case .head: continue
                }
            }
        }
        stream.sendsHeadFirst = true
        if !isUploaded {
            stream.receiveRest = { chunk in
                guard isInLimit(chunk, exchange) else {
                    exchange.close()
                    return false
                }
                return await exchange.send(Self.part(chunk), within: Self.silence)
            }
        }
        if isEmpty || !hasBody {
            ended()
            end(exchange, isUploaded: isUploaded)
        }
        var reply = Reply(status: Int(head.status.code), headers: headers, body: .stream(stream))
        reply.isRelayed = true
        return reply
    }

    /// Closes the exchange, which releases its slot. If the app may still be reading the request body, only releases
    /// the slot. The exchange then closes with its last reference.
    private func end(_ exchange: AppExchange, isUploaded: Bool) {
        if isUploaded { exchange.close() } else { exchange.endAnswer() }
    }

    private static func head(of exchange: AppExchange, within limit: Duration?) async throws -> HTTPResponseHead {
        let deadline = limit.map { ContinuousClock.now + $0 }
        while true {
            let part = try await exchange.next(within: deadline.map { max(.zero, $0 - .now) })
            if case .head(let head) = part, head.status.code >= 200 { return head }
        }
    }

    /// Whether a target is below a path, however the app would resolve its percent-encoding, dots and backslashes.
    static func isBelow(_ mount: String, _ target: String) -> Bool {
        var path = String(target.prefix { $0 != "?" && $0 != "#" })
        // The target may be encoded twice.
        for _ in 0..<2 { path = decoded(path) }
        var components: [Substring] = []
        for component in path.split(whereSeparator: { $0 == "/" || $0 == "\\" }) {
            switch component {
            case ".": continue
            case "..": _ = components.popLast()
            default: components.append(component)
            }
        }
        let wanted = mount.split(separator: "/")
        return components.count >= wanted.count
            && zip(components, wanted).allSatisfy { String($0).asciiLowercased == String($1).asciiLowercased }
    }

    /// Keeps invalid percent escapes, which could otherwise hide valid ones.
    private static func decoded(_ path: String) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(path).utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                let high = rest.first?.hexadecimalDigit, let low = rest.dropFirst().first?.hexadecimalDigit
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
