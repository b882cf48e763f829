import Encoding
import HTTP
import Rules
public import Telemetry

/// All routes of the REST interface, for dispatch, batches, request ids, allow list, metrics, documentation and tests.
package enum RouteTable {
    /// All routes. The first match wins.
    package static let all: [Route] =
        (objects + accounts + [batch] + configuration + functions + jobs + schemas + administration + hooks + imports
        + files + monitoring)
        .enumerated().map { $1.counted(in: RequestMeters.firstRoute + $0) }

    /// Returns the route that handles a request after its body is read, or nil if none matches.
    ///
    /// - Parameter components: The decoded path below the mount, without empty components.
    package static func match(_ method: Method, _ components: [String]) -> Route? {
        candidates(components).first { $0.method == method && $0.fits(components) }
    }

    /// Returns the route whose handler is called before the body is read, or nil if none matches.
    ///
    /// - Parameter components: The raw path below the mount, without empty components.
    package static func unread(_ method: String, _ components: [Substring]) -> Route? {
        guard let first = components.first, let routes = unreadByFirstName[first.asciiLowercased] else { return nil }
        let method = Method(name: method)
        return routes.first { ($0.method == method || $0.traits.contains(.anyMethod)) && $0.fits(components) }
    }

    /// Returns a path with its route names in parse-server's letter case, for the allow list, rate limits and audit.
    package static func canonical(_ components: [String]) -> [String] {
        let candidates = candidates(components)
        if let route = candidates.first(where: { $0.fits(components) }) {
            return route.canonical(components)
        }
        guard case .literal(let name)? = candidates.first?.path.first else { return components }
        return [name] + components.dropFirst()
    }

    private static func candidates(_ components: [String]) -> [Route] {
        components.first.flatMap { byFirstName[$0.asciiLowercased] } ?? []
    }

    private static let byFirstName = grouped(all.filter { $0.unread == nil })
    private static let unreadByFirstName = grouped(all.filter { $0.unread != nil })

    private static func grouped(_ routes: [Route]) -> [String: [Route]] {
        Dictionary(grouping: routes) { route in
            if case .literal(let name)? = route.path.first { name.asciiLowercased } else { "" }
        }
    }
}

/// The metrics rows of requests: the routes of the table, and the pages, whose folder is configurable.
public enum MeasuredRoutes {
    /// All rows, in order of their numbers.
    public static let rows: [RequestMeters.Row] =
        RouteTable.all.map { RequestMeters.Row(method: $0.method.rawValue, route: $0.template) }
        + [RequestMeters.Row(method: "GET", route: "/{page}")]

    static let page = RequestMeters.firstRoute + RouteTable.all.count

    /// Returns the path template of a row, or nil for unrouted paths.
    static func route(ofRow number: Int) -> String? {
        let index = number - RequestMeters.firstRoute
        return rows.indices.contains(index) ? rows[index].route : nil
    }
}

/// A route of the REST interface: its method and path, its access rules and its handler.
package struct Route: Sendable {
    /// Properties that the server checks before it calls the route.
    package struct Traits: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// A route that requires the rights of the master key or of the read-only master key.
        package static let master = Traits(rawValue: 1 << 0)
        /// A route allowed in a batch.
        package static let batchable = Traits(rawValue: 1 << 1)
        /// A route allowed in a batch that is a transaction.
        package static let transactional = Traits(rawValue: 1 << 2)
        /// A route that can be made to serve each request id only once (`idempotencyOptions`).
        package static let idempotent = Traits(rawValue: 1 << 3)
        /// A route for which the session token isn't resolved, so an invalid token isn't rejected.
        static let withoutSession = Traits(rawValue: 1 << 4)
        /// A route for which the session is resolved even if the caller has a server key, such as the master key.
        static let aboutSession = Traits(rawValue: 1 << 6)
        /// A route that accepts forms with files.
        static let form = Traits(rawValue: 1 << 5)
        /// A route that accepts every method.
        static let anyMethod = Traits(rawValue: 1 << 7)
    }

    package enum Component: Sendable, Equatable {
        /// A literal name in parse-server's spelling, matched in any case.
        case literal(String)
        /// Any single component. The value is the parameter's name.
        case parameter(String)
        /// All remaining components, at least one. The value is the parameter's name.
        case rest(String)
    }

    typealias Handler = @Sendable (ParseRoutes, RouteCall) async throws -> Reply
    /// A handler that is called before the body is read, because the body may be long or isn't needed. Returns nil to
    /// continue as if the route didn't exist.
    typealias UnreadHandler = @Sendable (UnreadRequest) async throws -> Reply?

    package let method: Method
    package let path: [Component]
    package let traits: Traits
    /// The handler to call after the body is read, or nil if the route is called before that.
    private(set) var handler: Handler?
    /// The handler to call before the body is read, or nil if the route needs the body.
    let unread: UnreadHandler?
    /// The metrics row that counts the route's requests.
    private(set) var row = 0

    /// - Parameter path: Components separated by slashes: names, `:parameters` and, as the last, `*rest`.
    init(
        _ method: Method, _ path: String, _ traits: Traits = [], _ handler: Handler?, unread: UnreadHandler? = nil
    ) {
        self.method = method
        self.path = path.split(separator: "/").map { component in
            switch component.first {
            case ":": .parameter(String(component.dropFirst()))
            case "*": .rest(String(component.dropFirst()))
            default: .literal(String(component))
            }
        }
        self.traits = traits
        self.handler = handler
        self.unread = unread
    }

    /// Creates a route whose handler is called before the body is read.
    static func unread(
        _ method: Method, _ path: String, _ traits: Traits = [], _ handler: @escaping UnreadHandler
    ) -> Route {
        Route(method, path, traits, nil, unread: handler)
    }

    private var endsWithRest: Bool {
        if case .rest? = path.last { true } else { false }
    }

    /// Returns the route with its replies changed by a closure, or unchanged if it is called before the body is read.
    func changing(_ change: @escaping @Sendable (Reply) -> Reply) -> Route {
        guard let handler else { return self }
        var route = self
        route.handler = { change(try await handler($0, $1)) }
        return route
    }

    fileprivate func counted(in row: Int) -> Route {
        var route = self
        route.row = row
        return route
    }

    /// Whether the route counts as a read: a GET that isn't a login, or a function or batch, whose operations are
    /// checked separately.
    package var onlyReads: Bool {
        let isLogIn = path == [.literal("login")]
        return (method == .get && !isLogIn) || path == [.literal("batch")] || path.first == .literal("functions")
    }

    /// The path as written in the documentation.
    package var text: String {
        path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter(let name): "/<" + name + ">"
            case .rest(let name): "/<" + name + "…>"
            }
        }.joined()
    }

    /// The path template in OpenTelemetry's format.
    var template: String {
        path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter(let name), .rest(let name): "/{" + (name == "class" ? "className" : name) + "}"
            }
        }.joined()
    }

    /// Compares all components but the first, which the caller has matched already.
    fileprivate func fits(_ components: [some StringProtocol]) -> Bool {
        guard components.count == path.count || endsWithRest && components.count > path.count else { return false }
        return (1..<path.count).allSatisfy { index in
            guard case .literal(let name) = path[index] else { return true }
            return components[index].utf8.elementsEqual(name.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
        }
    }

    /// Returns the components of a path that match the route's parameters.
    func arguments(of components: [String]) -> [String] {
        var arguments: [String] = []
        arguments.reserveCapacity(components.count)
        for (index, component) in components.enumerated() {
            if index < path.count, case .literal = path[index] { continue }
            arguments.append(component)
        }
        return arguments
    }

    /// Returns a path with names in parse-server's spelling. `components` must fit the route.
    func canonical(_ components: [String]) -> [String] {
        var components = components
        for (index, component) in path.enumerated() {
            if case .literal(let name) = component { components[index] = name }
        }
        return components
    }
}

struct RouteCall: Sendable {
    let envelope: Envelope
    let context: RequestContext
    /// The path components that match the route's parameters, in order.
    let arguments: [String]

    subscript(index: Int) -> String { arguments[index] }
}
