import Encoding
import HTTP
import JSON
import ServerConfiguration
import Synchronization

/// Determines the URL of the mount path as clients see it.
final class MountURLs: Sendable {
    private struct Origin: Equatable {
        var isSecure: Bool
        var host: Name
    }

    private let publicURL: String?
    private let serverURL: String
    private let mount: String
    private let trustProxy: Configuration.TrustProxy
    private let speaksTLS: Bool
    /// The latest result, cached because nearly all clients use the same host.
    private let last = Mutex<(origin: Origin, url: String)?>(nil)

    init(_ configuration: Configuration) {
        publicURL = configuration.publicServerURL
        serverURL = configuration.serverURL
        mount = configuration.mount
        trustProxy = configuration.trustProxy
        speaksTLS = configuration.https != nil
    }

    /// Returns the configured public URL, or `scheme://host/mount` from the request, without a trailing slash. Falls
    /// back to `serverURL` if the host is missing or invalid.
    func url(for request: IncomingRequest) -> String {
        url(
            host: request.authority, peer: request.peer, forwardedHost: request.headers[.forwardedHost],
            forwardedProtocol: request.headers[.forwardedProtocol])
    }

    func url(for request: WebSocketRequest) -> String {
        url(
            host: request.host, peer: request.peer, forwardedHost: request.forwardedHost,
            forwardedProtocol: request.forwardedProtocol)
    }

    private func url(
        host: String?, peer: String, forwardedHost: @autoclosure () -> String?,
        forwardedProtocol: @autoclosure () -> String?
    ) -> String {
        if let publicURL { return publicURL }
        let origin = origin(host, peer, forwardedHost(), forwardedProtocol())
        guard !origin.host.isEmpty else { return serverURL }
        if let known = last.withLock({ $0?.origin == origin ? $0?.url : nil }) { return known }
        guard Self.isHost(origin.host.text) else { return serverURL }
        let url = (origin.isSecure ? "https://" : "http://") + origin.host.text + mount
        last.withLock { $0 = (origin, url) }
        return url
    }

    private func origin(
        _ host: String?, _ peer: String, _ forwardedHost: @autoclosure () -> String?,
        _ forwardedProtocol: @autoclosure () -> String?
    ) -> Origin {
        var origin = Origin(isSecure: speaksTLS, host: Name(host ?? ""))
        guard trustProxy.trusts(peer: peer) else { return origin }
        if let scheme = forwardedProtocol() { origin.isSecure = Self.first(scheme) == "https" }
        if let host = forwardedHost() { origin.host = Name(Self.first(host)) }
        return origin
    }

    /// Returns the scheme and host that the client used, as reported by trusted proxies.
    func clientView(of request: IncomingRequest) -> (scheme: String, host: String) {
        let origin = origin(
            request.authority, request.peer, request.headers[.forwardedHost], request.headers[.forwardedProtocol])
        return (origin.isSecure ? "https" : "http", origin.host.text)
    }

    /// Proxies append their entry to the list, so the first is the client's.
    private static func first(_ list: String) -> String {
        String(list.prefix { $0 != "," }.trimmingSpaces())
    }

    /// Whether text sent by a client has only characters allowed in a URL's host and port.
    private static func isHost(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0.isASCIIAlphanumeric || ".-_:[]".utf8.contains($0) }
    }
}
