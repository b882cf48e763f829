import Encoding
import HTTP
import Operations
import Rules
public import Telemetry

/// All routes of the REST interface. Dispatch, batches, request ids, the allow list, metrics, the list in the documents
/// and the tests that walk all routes read it.
package enum RouteTable {
    /// The routes; where two fit, the first counts.
    package static let all: [Route] =
        (objects + accounts + [batch] + configuration + functions + jobs + schemas + administration + hooks + imports
        + files + monitoring)
        .enumerated().map { $1.counted(in: RequestMeters.firstRoute + $0) }

    /// The route that answers a request whose body is read; nil when none does.
    ///
    /// - Parameter components: The decoded path below the mount, without empty components.
    package static func match(_ method: Method, _ components: [String]) -> Route? {
        candidates(components).first { $0.method == method && $0.fits(components) }
    }

    /// The route that answers a request before its body is read; nil when none does.
    ///
    /// - Parameter components: The path below the mount as it came, without empty components.
    package static func unread(_ method: String, _ components: [Substring]) -> Route? {
        guard let first = components.first, let routes = unreadByFirstName[first.asciiLowercased] else { return nil }
        let method = Method(name: method)
        return routes.first { ($0.method == method || $0.traits.contains(.anyMethod)) && $0.fits(components) }
    }

    /// A path with the names of routes as parse-server writes them, so that no spelling of a route slips past a list.
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

/// The rows under which metrics count requests: the routes of the table, and the pages, whose folder is configured.
public enum MeasuredRoutes {
    /// The rows, in the order of their numbers.
    public static let rows: [RequestMeters.Row] =
        RouteTable.all.map { RequestMeters.Row(method: $0.method.rawValue, route: $0.template) }
        + [RequestMeters.Row(method: "GET", route: "/{page}")]

    static let page = RequestMeters.firstRoute + RouteTable.all.count

    /// The template of the paths that are counted in a row; nil for paths of no route.
    static func route(ofRow number: Int) -> String? {
        let index = number - RequestMeters.firstRoute
        return rows.indices.contains(index) ? rows[index].route : nil
    }
}

/// One route of the REST interface: which requests it answers, who may use it, and what answers.
package struct Route: Sendable {
    /// What dispatch, batches, request ids and the allow list need to know of a route.
    package struct Traits: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Only the master key, or the read-only master key, may use it.
        package static let master = Traits(rawValue: 1 << 0)
        /// A batch may contain it.
        package static let batchable = Traits(rawValue: 1 << 1)
        /// A batch that is one transaction may contain it.
        package static let transactional = Traits(rawValue: 1 << 2)
        /// The same request id is served once.
        package static let idempotent = Traits(rawValue: 1 << 3)
        /// A session token has no meaning for it, so that a bad one is not refused.
        static let withoutSession = Traits(rawValue: 1 << 4)
        /// It is about the session of the token, whatever keys come with it.
        static let aboutSession = Traits(rawValue: 1 << 6)
        /// The body may be a form with files.
        static let form = Traits(rawValue: 1 << 5)
        /// It answers by whatever method.
        static let anyMethod = Traits(rawValue: 1 << 7)
    }

    package enum Component: Sendable, Equatable {
        /// A name, found whatever the case of its letters; written as parse-server writes it.
        case literal(String)
        /// Any one component, by what it is.
        case parameter(String)
        /// All components that are left, at least one.
        case rest(String)
    }

    typealias Handler = @Sendable (ParseRoutes, RouteCall) async throws -> Reply
    /// Answers before the body is read, which may be long; nil for a request that is answered as if there were no such
    /// route.
    typealias UnreadHandler = @Sendable (UnreadRequest) async throws -> Reply?

    /// Takes the body, or runs before it is read.
    private enum Answer: Sendable {
        case read(Handler)
        case unread(UnreadHandler)
    }

    package let method: Method
    package let path: [Component]
    package let traits: Traits
    private var answer: Answer
    /// The row of the metrics that counts its requests.
    private(set) var row = 0

    /// - Parameter path: Components with slashes between them: names, `:parameters`, and `*rest` as the last.
    init(_ method: Method, _ path: String, _ traits: Traits = [], _ handler: @escaping Handler) {
        self.init(method, path, traits, .read(handler))
    }

    private init(_ method: Method, _ path: String, _ traits: Traits, _ answer: Answer) {
        self.method = method
        self.path = path.split(separator: "/").map { component in
            switch component.first {
            case ":": .parameter(String(component.dropFirst()))
            case "*": .rest(String(component.dropFirst()))
            default: .literal(String(component))
            }
        }
        self.traits = traits
        self.answer = answer
    }

    /// A route that answers before a body is read.
    static func unread(
        _ method: Method, _ path: String, _ traits: Traits = [], _ handler: @escaping UnreadHandler
    ) -> Route {
        Route(method, path, traits, .unread(handler))
    }

    /// What answers with the body; nil for a route that answers before it is read.
    var handler: Handler? { if case .read(let handler) = answer { handler } else { nil } }

    /// What answers before the body is read; nil for a route that wants it.
    var unread: UnreadHandler? {
        if case .unread(let handler) = answer { handler } else { nil }
    }

    private var endsWithRest: Bool {
        if case .rest? = path.last { true } else { false }
    }

    /// The same route, whose replies are changed before they are sent.
    func changing(_ change: @escaping @Sendable (Reply) -> Reply) -> Route {
        guard let handler else { return self }
        var route = self
        route.answer = .read { change(try await handler($0, $1)) }
        return route
    }

    fileprivate func counted(in row: Int) -> Route {
        var route = self
        route.row = row
        return route
    }

    /// Whether it writes nothing by itself: functions and the parts of a batch are judged by what they ask for.
    package var onlyReads: Bool {
        let isLogIn = path == [.literal("login")]
        return (method == .get && !isLogIn) || path == [.literal("batch")] || path.first == .literal("functions")
    }

    /// The path as the documents write it.
    package var text: String {
        path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter(let name): "/<" + name + ">"
            case .rest(let name): "/<" + name + "…>"
            }
        }.joined()
    }

    /// The path as OpenTelemetry's conventions write templates.
    var template: String {
        path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter(let name), .rest(let name): "/{" + (name == "class" ? "className" : name) + "}"
            }
        }.joined()
    }

    /// Whether the route matches a path. Skips the first component, by which routes are found.
    fileprivate func fits(_ components: [some StringProtocol]) -> Bool {
        guard components.count == path.count || endsWithRest && components.count > path.count else { return false }
        return (1..<path.count).allSatisfy { index in
            guard case .literal(let name) = path[index] else { return true }
            return components[index].utf8.elementsEqual(name.utf8, by: Self.isSameLetter)
        }
    }

    /// The components of a path of the route that stand for parameters.
    func arguments(of components: [String]) -> [String] {
        var arguments: [String] = []
        arguments.reserveCapacity(components.count)
        for (index, component) in components.enumerated() {
            if index < path.count, case .literal = path[index] { continue }
            arguments.append(component)
        }
        return arguments
    }

    /// The path with names as parse-server writes them; `components` must fit.
    func canonical(_ components: [String]) -> [String] {
        var components = components
        for (index, component) in path.enumerated() {
            if case .literal(let name) = component { components[index] = name }
        }
        return components
    }

    private static func isSameLetter(_ left: UInt8, _ right: UInt8) -> Bool {
        if left == right { return true }
        let lowercase = left | 0x20
        return lowercase == right | 0x20 && lowercase >= UInt8(ascii: "a") && lowercase <= UInt8(ascii: "z")
    }
}

struct RouteCall: Sendable {
    let envelope: Envelope
    let context: RequestContext
    /// What stands in the path where the route has parameters, in their order.
    let arguments: [String]

    subscript(index: Int) -> String { arguments[index] }
}
