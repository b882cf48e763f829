import AsyncHTTPClient
import Limits
public import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Platform
public import ServerConfiguration
import Synchronization

/// Sends requests to other servers, such as identity providers, file stores and webhooks.
///
/// Reuses connections. Verifies certificates and limits the duration and size of responses. Doesn't follow redirects,
/// which would let another server choose whom this server contacts.
public final class HTTPCaller: Sendable {
    /// The first call creates the HTTP client, so that a server that fails to start doesn't have to shut it down.
    private enum State {
        case unused(HTTPClient.Configuration)
        case open(HTTPClient)
        case closed
    }

    private let state: Mutex<State>

    /// Creates a caller, which connects on first use.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: Maximum number of concurrent calls per host. Others wait.
    ///   - keptFor: The idle timeout of connections, or nil for one minute. If set, a failed connection isn't retried.
    ///   - connectTime: The connect timeout.
    /// - Throws: `HTTPCallFailure` if the file of the option `trustedCertificates` can't be read.
    public init(
        _ settings: Configuration.Outgoing, connectionsPerHost: Int = 8, keptFor: Duration? = nil,
        connectTime: Duration = .seconds(5)
    ) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let path = settings.trustedCertificates {
            tls.additionalTrustRoots = [.certificates(try Self.certificates(in: path))]
        }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = TimeAmount(connectTime)
        // Spans of a global tracer would contain whole URLs, including tokens.
        configuration.tracing.tracer = nil
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
        if let keptFor {
            configuration.connectionPool.idleTimeout = TimeAmount(keptFor)
            // Reports an unreachable host immediately.
            configuration.connectionPool.retryConnectionEstablishment = false
        }
        configuration.proxy = settings.proxy.map { .server(host: $0.host, port: $0.port) }
        state = Mutex(.unused(configuration))
    }

    private static func certificates(in path: String) throws -> [NIOSSLCertificate] {
        if let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty { return certificates }
        let reason = access(path, R_OK) == 0 ? "it contains no PEM certificate" : String(cString: strerror(errno))
        throw HTTPCallFailure(description: "option trustedCertificates: \(path) can't be read: \(reason)")
    }

    /// Closes all connections. Later calls fail.
    public func shutdown() async {
        let client: HTTPClient? = state.withLock { state in
            defer { state = .closed }
            guard case .open(let client) = state else { return nil }
            return client
        }
        try? await client?.shutdown()
    }

    func client() throws -> HTTPClient {
        try state.withLock { state in
            switch state {
            case .open(let client): return client
            case .closed: throw HTTPCallFailure(description: "the server is stopping")
            case .unused(let configuration):
                let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
                state = .open(client)
                return client
            }
        }
    }

    /// Sends a request and reads the whole response.
    ///
    /// - Parameters:
    ///   - timeLimit: The time limit of the whole call, or nil for none.
    ///   - maxBytes: Maximum size of the response body in bytes.
    /// - Throws: `HTTPCallFailure` without a response within the limits, or `CancellationError`.
    public func send(_ call: HTTPCall, timeLimit: Duration? = .seconds(5), maxBytes: Int = 65_536) async throws
        -> HTTPReply
    {
        do {
            guard let timeLimit else { return try await exchange(call, maxBytes) }
            guard let reply = try await withTimeLimit(timeLimit, { try await self.exchange(call, maxBytes) }) else {
                throw HTTPCallFailure(description: "no response in time")
            }
            return reply
        } catch is NIOTooManyBytesError {
            throw HTTPCallFailure(description: "the response is larger than \(maxBytes) bytes", kind: .tooLarge)
        } catch {
            throw Self.failure(error)
        }
    }

    /// Converts errors of the HTTP client to `HTTPCallFailure` or `CancellationError`.
    static func failure(_ error: any Error) -> any Error {
        if error is HTTPCallFailure { return error }
        if Task.isCancelled { return CancellationError() }
        return HTTPCallFailure(
            description: (error as? HTTPClientError)?.shortDescription ?? "\(error)", kind: kind(of: error))
    }

    private static func kind(of error: any Error) -> HTTPCallFailure.Kind {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout: return .unreachable
            case .remoteConnectionClosed: return .closed
            case .getConnectionFromPoolTimeout: return .busy
            default: return .other
            }
        case is NIOConnectionError: return .unreachable
        case HTTPParserError.invalidEOFState: return .closed
        case let error as IOError:
            return [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode) ? .unreachable : .closed
        case is ChannelError: return .closed
        default: return .other
        }
    }

    /// Returns the HTTP client's request.
    ///
    /// - Throws: `HTTPCallFailure` if the port is above 65535. The client would crash if the host is an IP address.
    static func request(_ call: HTTPCall) throws -> HTTPClientRequest {
        guard (URL(string: call.url)?.port ?? 0) <= UInt16.max else {
            throw HTTPCallFailure(description: "the port is above \(UInt16.max)", kind: .unreachable)
        }
        var request = HTTPClientRequest(url: call.url)
        request.method = HTTPMethod(rawValue: call.method)
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        if !call.body.isEmpty { request.body = .bytes(call.body) }
        return request
    }

    private func exchange(_ call: HTTPCall, _ maxBytes: Int) async throws -> HTTPReply {
        let response = try await client().execute(Self.request(call), deadline: .distantFuture)
        let body = try await response.body.collect(upTo: maxBytes)
        return HTTPReply(
            status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) },
            body: Array(body.readableBytesView))
    }
}

extension HTTPCaller {
    /// Sends a request and streams the response body, which may have any size, for at most an hour.
    ///
    /// - Parameters:
    ///   - silence: Maximum time without data.
    ///   - sink: Receives each piece of the body of a successful response. The next one is read after it returns.
    /// - Returns: The HTTP status.
    /// - Throws: `HTTPCallFailure` if no complete response arrives within the limits, `CancellationError`, or the errors of
    ///   `sink`.
    public func download(
        _ call: HTTPCall, silence: Duration = .seconds(60), to sink: (ByteBuffer) async throws -> Void
    ) async throws -> Int {
        let timeLimit = Duration.seconds(3600)
        let end = ContinuousClock.now + timeLimit
        let answer = try await open(call, headWithin: min(timeLimit, silence), silence: silence)
        guard (200...299).contains(answer.status) else { return answer.status }
        while let piece = try await answer.body.next() {
            guard ContinuousClock.now < end else {
                throw HTTPCallFailure(description: "the response took longer than \(timeLimit)")
            }
            try await sink(piece)
        }
        return answer.status
    }
}
