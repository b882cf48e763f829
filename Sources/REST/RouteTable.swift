import Encoding
import HTTP
import Operations
import Rules
import Telemetry

/// All routes of the REST interface. Dispatch, batches, request ids, the allow list, the list in the documents and the
/// tests that walk all routes read it.
///
/// `/health` and `/files` are not among them: the transport answers these before a body is read.
enum RouteTable {
    /// The routes; where two fit, the first counts.
    static let all: [Route] =
        (objects + accounts + [batch] + configuration + functions + jobs + schemas + administration + hooks + imports)
        .enumerated().map { $1.counted(in: RequestMeters.firstRoute + $0) }

    /// A route, and what stands in the path where it has parameters.
    typealias Match = (route: Route, arguments: [String])

    /// The route that answers a request; nil when none does.
    ///
    /// - Parameter components: The decoded path below the mount, without empty components.
    static func match(_ method: Method, _ components: [String]) -> Match? {
        for route in candidates(components) where route.method == method {
            if let arguments = route.arguments(of: components) { return (route, arguments) }
        }
        return nil
    }

    /// A path with the names of routes as parse-server writes them, so that no spelling of a route slips past a list.
    static func canonical(_ components: [String]) -> [String] {
        let candidates = candidates(components)
        if let route = candidates.first(where: { $0.arguments(of: components) != nil }) {
            return route.canonical(components)
        }
        guard case .literal(let name)? = candidates.first?.path.first else { return components }
        return [name] + components.dropFirst()
    }

    private static func candidates(_ components: [String]) -> [Route] {
        components.first.flatMap { byFirstName[$0.asciiLowercased] } ?? []
    }

    private static let byFirstName = Dictionary(grouping: all) { route in
        if case .literal(let name)? = route.path.first { name.asciiLowercased } else { "" }
    }
}

/// One route of the REST interface: which requests it answers, who may use it, and what answers.
struct Route: Sendable {
    /// What dispatch, batches, request ids and the allow list need to know of a route.
    struct Traits: OptionSet, Sendable {
        let rawValue: Int

        /// Only the master key, or the read-only master key, may use it.
        static let master = Traits(rawValue: 1 << 0)
        /// A batch may contain it.
        static let batchable = Traits(rawValue: 1 << 1)
        /// A batch that is one transaction may contain it.
        static let transactional = Traits(rawValue: 1 << 2)
        /// The same request id is served once.
        static let idempotent = Traits(rawValue: 1 << 3)
        /// A session token has no meaning for it, so that a bad one is not refused.
        static let withoutSession = Traits(rawValue: 1 << 4)
        /// It is about the session of the token, whatever keys come with it.
        static let aboutSession = Traits(rawValue: 1 << 6)
        /// The body may be a form with files.
        static let form = Traits(rawValue: 1 << 5)
    }

    enum Component: Sendable, Equatable {
        /// A name, found whatever the case of its letters; written as parse-server writes it.
        case literal(String)
        /// Any one component, by what it is.
        case parameter(String)
        /// All components that are left, at least one.
        case rest(String)
    }

    typealias Handler = @Sendable (ParseRoutes, RouteCall) async throws -> Reply

    let method: Method
    let path: [Component]
    let traits: Traits
    private(set) var handler: Handler
    /// The row of the metrics under which its requests are counted.
    private(set) var row = 0

    /// Makes a route.
    ///
    /// - Parameter path: Components with slashes between them: names, `:parameters`, and `*rest` as the last.
    init(_ method: Method, _ path: String, _ traits: Traits = [], _ handler: @escaping Handler) {
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
    }

    private var endsWithRest: Bool {
        if case .rest? = path.last { true } else { false }
    }

    /// The same route with another handler.
    func answering(_ handler: @escaping Handler) -> Route {
        var route = self
        route.handler = handler
        return route
    }

    /// The same route, whose requests are counted in a row of the metrics.
    fileprivate func counted(in row: Int) -> Route {
        var route = self
        route.row = row
        return route
    }

    /// Whether it writes nothing by itself: functions and the parts of a batch are judged by what they ask for.
    var onlyReads: Bool {
        let isLogIn = path == [.literal("login")]
        return (method == .get && !isLogIn) || path == [.literal("batch")] || path.first == .literal("functions")
    }

    /// The path as the documents write it.
    var text: String {
        path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter(let name): "/<" + name + ">"
            case .rest(let name): "/<" + name + "…>"
            }
        }.joined()
    }

    /// The components that stand for parameters; nil when the path is another.
    func arguments(of components: [String]) -> [String]? {
        guard components.count == path.count || endsWithRest && components.count > path.count else { return nil }
        var arguments: [String] = []
        arguments.reserveCapacity(components.count)
        for (index, component) in path.enumerated() {
            switch component {
            case .literal(let name):
                let component = components[index]
                guard
                    ByteEquality.areSame(component, name)
                        || component.utf8.elementsEqual(name.utf8, by: Self.isSameLetter)
                else { return nil }
            case .parameter: arguments.append(components[index])
            case .rest: arguments.append(contentsOf: components[index...])
            }
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

    /// Whether two bytes are the same, or the same letter of ASCII in another case.
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
